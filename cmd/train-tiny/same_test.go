package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Runs of the same seed on any number of processors, and one that went on from its middle, have the same
// bits.
func TestSameBitsOnAnyNumberOfProcessors(t *testing.T) {
	dir := newRunDir(t)
	on := func(processors int, args ...string) {
		t.Helper()
		cmd := program(t, dir, args...)
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOMAXPROCS=%d", processors))
		succeed(t, cmd)
	}
	for _, n := range []int{1, 2, 8} {
		on(n, "book.txt", "--config", "tiny.json", "--n-layer", "2", "--n-embd", "32", "--block-size", "32", "--batch-size", "6",
			"--dropout", "0.1", "--grad-accum", "2", "--max-iters", "12", "--save-interval", "6", "--keep", "0",
			"--out-dir", fmt.Sprint("on-", n))
	}
	one := filepath.Join(dir, "on-1")
	sameWeights(t, 12, one, filepath.Join(dir, "on-2"))
	sameWeights(t, 12, one, filepath.Join(dir, "on-8"))

	resumed := filepath.Join(dir, "resumed") // as if it had ended after step 6
	err := os.CopyFS(resumed, os.DirFS(one))
	if err == nil {
		err = os.RemoveAll(filepath.Join(resumed, "checkpoints", "step-000012"))
	}
	for _, name := range []string{"latest", "best"} {
		if err == nil {
			err = os.WriteFile(filepath.Join(resumed, "checkpoints", name), []byte("step-000006\n"), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	on(8, "--out-dir", "resumed", "--resume")
	sameWeights(t, 12, one, resumed)
}

// The composed form has other bits, but not other losses.
func TestComposedRunHasTheSameLosses(t *testing.T) {
	dir := newRunDir(t)
	fused := trained(t, dir, "fused", "--dropout", "0.1", "--log-interval", "1")
	composed := trained(t, dir, "composed", "--dropout", "0.1", "--log-interval", "1", "--composed")
	weights := []string{"checkpoints", "step-000012", "model.safetensors"}
	if bytes.Equal(readFile(t, append([]string{fused}, weights...)...), readFile(t, append([]string{composed}, weights...)...)) {
		t.Error("both forms have the same bits; were both used?")
	}
	for part, steps := range map[string]int{"train": 12, "val": 12} {
		want, got := losses(t, part, fused), losses(t, part, composed)
		if len(want) < steps {
			t.Errorf("%d %s losses were recorded, want %d", len(want), part, steps)
		}
		for step, loss := range want {
			if !(math.Abs(got[step]-loss) <= 1e-4) {
				t.Errorf("step %d: %s loss %v composed, %v fused", step, part, got[step], loss)
			}
		}
	}
}
