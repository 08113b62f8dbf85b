package generate

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"tinylm/data"
	"tinylm/layers"
	"tinylm/train/checkpoint"
)

// checkpointOf returns gpt and its tokenizer as a checkpoint of a step.
func checkpointOf(t *testing.T, gpt *layers.GPT, tok data.Tokenizer, step int) *checkpoint.Checkpoint {
	t.Helper()
	files, err := data.Files(tok, gpt.Config.Context)
	if err != nil {
		t.Fatal(err)
	}
	c := &checkpoint.Checkpoint{
		Config: gpt.Config, EndOfText: tok.EndOfText(), TokenizerFiles: files,
		State: &checkpoint.State{Step: step, TextSHA256: strings.Repeat("0a", 32), Settings: map[string]string{}},
	}
	for _, p := range gpt.Params().List() {
		weights, err := layers.Slice[float32](gpt.Params(), p.Name)
		if err != nil {
			t.Fatal(err)
		}
		zero := make([]float32, p.Len())
		c.Weights = append(c.Weights, checkpoint.Tensor{Name: p.Name, Shape: p.Shape, Data: weights})
		c.Moments = append(c.Moments, checkpoint.Tensor{Name: "m." + p.Name, Shape: p.Shape, Data: zero},
			checkpoint.Tensor{Name: "v." + p.Name, Shape: p.Shape, Data: zero})
	}
	return c
}

// savedRun saves two checkpoints: of step 1, which writes "aaa", and of step 2, which writes "bbb".
func savedRun(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run")
	run, err := checkpoint.CreateAt(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for step, gpt := range []*layers.GPT{constant(t, 0, 1, 0, 0), constant(t, 0, 0, 1, 0)} {
		if _, err := run.Save(checkpointOf(t, gpt, letters(t, 2), step+1), step == 0); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestLoad(t *testing.T) {
	path := savedRun(t)
	best := filepath.Join(path, "checkpoints", "step-000001")
	for name, want := range map[string]string{path: "bbb", best: "aaa"} {
		m, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, m, "a", Options{MaxNewTokens: 3}); got != want || m.Notice != "" || !strings.HasPrefix(m.Path, name) {
			t.Errorf("%s: %q, want %q; path %s, notice %q", name, got, want, m.Path, m.Notice)
		}
	}

	weights := filepath.Join(path, "checkpoints", "step-000002", "model.safetensors")
	if err := os.Truncate(weights, 100); err != nil {
		t.Fatal(err)
	}
	m, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, m, "a", Options{MaxNewTokens: 3}); got != "aaa" || m.Path != best || !strings.Contains(m.Notice, "step-000001") {
		t.Errorf("with the newest checkpoint damaged: %q, path %s, notice %q", got, m.Path, m.Notice)
	}
}

func TestLoadErrors(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no directory: %v", err)
	}
	if _, err := Load(filepath.Join("testdata", "gpt2")); err == nil || !strings.Contains(err.Error(), "has no tokenizer.json") {
		t.Errorf("a model without a tokenizer: %v", err)
	}
}

func TestFromCheckpointErrors(t *testing.T) {
	whole := checkpointOf(t, constant(t, 0, 1, 0, 0), letters(t, 2), 1)
	if _, err := FromCheckpoint(whole); err != nil {
		t.Fatal(err)
	}

	other := *whole
	other.TokenizerFiles = maps.Clone(whole.TokenizerFiles)
	other.TokenizerFiles[data.TokenizerFile] = []byte(`{"model":{"type":"WordPiece"}}`)
	var format *data.TokenizerFormatError
	if _, err := FromCheckpoint(&other); !errors.As(err, &format) {
		t.Errorf("another program's tokenizer: %v", err)
	}

	files, err := data.Files(letters(t, 5), 16)
	if err != nil {
		t.Fatal(err)
	}
	other.TokenizerFiles = files
	if _, err := FromCheckpoint(&other); err == nil || !strings.Contains(err.Error(), "4 tokens, its tokenizer 7") {
		t.Errorf("another vocabulary: %v", err)
	}

	other = *whole
	other.Weights = slices.Clone(whole.Weights)
	other.Weights[0] = checkpoint.Tensor{Name: "transformer.wte.weight", Shape: []int{1}, Data: []float32{0}}
	if _, err := FromCheckpoint(&other); err == nil || !strings.Contains(err.Error(), "transformer.wte.weight") {
		t.Errorf("a weight of another shape: %v", err)
	}
}

// TestFloat64 generates with a model of float64 weights, and of a dropout that must not act.
func TestFloat64(t *testing.T) {
	single := random(t, 16, 9)
	c := single.Config
	c.Dropout = 0.5
	double, err := layers.NewGPT(c, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range single.Params().Flat32() {
		double.Params().Flat64()[i] = float64(w)
	}
	o := Options{MaxNewTokens: 30, Temperature: 1}
	tok := endless{letters(t, 7)}
	if got, want := text(t, New(double, tok), "abc", o), text(t, New(single, tok), "abc", o); got != want {
		t.Errorf("float64 writes %q, float32 %q", got, want)
	}
}
