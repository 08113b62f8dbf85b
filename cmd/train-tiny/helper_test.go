package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// program is this command as another process: TestMain runs it when it is called by its name.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Path: self, Args: append([]string{"train-tiny"}, args...), Dir: dir, Env: append(os.Environ(), "GOMAXPROCS=2")}
}

// succeed runs a command that must end with exit status 0.
func succeed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
}

// newRunDir returns a directory with tiny.json and book.txt.
func newRunDir(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{"tiny.json": tinyJSON, "book.txt": book} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// inProcess runs a command line that must end with exit status 0, in this process, and returns its stdout.
func inProcess(t *testing.T, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	if status := run(args, &streams{out: &out, err: &stderr, program: "train-tiny"}); status != 0 {
		t.Fatalf("%q: exit status %d\n%s", args, status, stderr.String())
	}
	return out.String()
}

// trained makes a run in a directory of newRunDir, by the name given, and returns its path.
func trained(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	inProcess(t, append([]string{
		filepath.Join(dir, "book.txt"), "--config", filepath.Join(dir, "tiny.json"), "--out-dir", path,
	}, args...)...)
	return path
}

// losses returns the losses on a part of the text, "train" or "val", in a run's record, by step.
func losses(t *testing.T, part, run string) map[int]float64 {
	t.Helper()
	all := map[int]float64{}
	line := regexp.MustCompile(`"step":(\d+).*"` + part + `_loss":([0-9.e-]+)`)
	for _, m := range line.FindAllStringSubmatch(string(readFile(t, run, "metrics.jsonl")), -1) {
		step, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		if all[step], err = strconv.ParseFloat(m[2], 64); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// sameWeights compares the weights and the moments of two runs at a step, byte for byte.
func sameWeights(t *testing.T, step int, want, got string) {
	t.Helper()
	for _, name := range []string{"model.safetensors", "training.safetensors"} {
		name = filepath.Join("checkpoints", fmt.Sprintf("step-%06d", step), name)
		if !bytes.Equal(readFile(t, want, name), readFile(t, got, name)) {
			t.Errorf("%s differs between %s and %s", name, filepath.Base(want), filepath.Base(got))
		}
	}
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// writerFunc is an io.Writer that a function sees every write of.
type writerFunc func(text string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}
