package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// requireFallback checks that a damaged step 2 is seen, by its own path and by that of the run,
// and that the run goes on from step 1 with a notice.
func requireFallback(t *testing.T, r *Run, what string) {
	t.Helper()
	damaged := r.File("checkpoints/step-000002")
	_, _, err := Open(damaged)
	if format := (*FormatError)(nil); !errors.As(err, &format) || !strings.HasPrefix(format.File, damaged) {
		t.Fatalf("%s: error %v, want a *FormatError in %s", what, err, damaged)
	}
	c, notice, err := Open(r.Path)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !strings.Contains(notice, "step-000002") || !strings.HasSuffix(notice, "; loaded step-000001 instead") || strings.Contains(notice, "\n") {
		t.Fatalf("%s: notice %q", what, notice)
	}
	if c.State.Step != 1 {
		t.Fatalf("%s: loaded step %d", what, c.State.Step)
	}
}

// Every file, cut at each sixteenth of its length and with a bit flipped anywhere (here: in 24
// places), is found damaged.
func TestDamageIsSeen(t *testing.T) {
	r := newRun(t, 1, 2)
	entries, err := os.ReadDir(r.File("checkpoints/step-000002"))
	if err != nil || len(entries) != 11 {
		t.Fatal(len(entries), err)
	}
	for _, e := range entries {
		path := r.File("checkpoints/step-000002/" + e.Name())
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 16 {
			writeFile(t, path, string(good[:len(good)*i/16]))
			requireFallback(t, r, e.Name()+" cut")
		}
		writeFile(t, path, string(good)+" ")
		requireFallback(t, r, e.Name()+" longer")
		for i := 0; i < len(good); i += 1 + len(good)/24 {
			bad := []byte(string(good))
			bad[i] ^= []byte{1, 0x20, 0x80}[i%3] // 0x20 makes an upper-case letter
			writeFile(t, path, string(bad))
			requireFallback(t, r, e.Name()+" flipped")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		requireFallback(t, r, e.Name()+" removed")
		writeFile(t, path, string(good))
	}
	c, notice, err := Open(r.Path)
	if err != nil || notice != "" {
		t.Fatal(notice, err)
	}
	requireSame(t, sample(t, sampleConfig, 2), c)
}

func TestOpenFallsBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(r *Run) error
		step   int
		notice string
	}{
		{"pointer lost", func(r *Run) error { return os.Remove(r.File("checkpoints/latest")) }, 3, "latest"},
		{"pointer empty", func(r *Run) error { return os.WriteFile(r.File("checkpoints/latest"), nil, 0o644) }, 3, "latest"},
		{"pointer cut", func(r *Run) error { return os.WriteFile(r.File("checkpoints/latest"), []byte("step-000003"), 0o644) }, 3, "latest"},
		{"pointer elsewhere", func(r *Run) error { return os.WriteFile(r.File("checkpoints/latest"), []byte("../../x\n"), 0o644) }, 3, "latest"},
		{"checkpoint lost", func(r *Run) error { return os.RemoveAll(r.File("checkpoints/step-000003")) }, 2, "step-000003"},
		{"checkpoint a file", func(r *Run) error {
			return errors.Join(os.RemoveAll(r.File("checkpoints/step-000003")), os.WriteFile(r.File("checkpoints/step-000003"), nil, 0o644))
		}, 2, "step-000003"},
		{"pointer at an earlier one", func(r *Run) error {
			return errors.Join(os.WriteFile(r.File("checkpoints/latest"), []byte("step-000002\n"), 0o644), os.Remove(r.File("checkpoints/step-000002/vocab.json")))
		}, 1, "vocab.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t, 1, 2, 3)
			if err := c.damage(r); err != nil {
				t.Fatal(err)
			}
			got, notice, err := Open(r.Path)
			if err != nil || got.State.Step != c.step || !strings.Contains(notice, c.notice) {
				t.Fatalf("step %v, notice %q, error %v; want step %d and a notice of %s", got, notice, err, c.step, c.notice)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	empty := newRun(t)
	broken := newRun(t, 1)
	if err := os.Remove(broken.File("checkpoints/step-000001/config.json")); err != nil {
		t.Fatal(err)
	}
	noManifest := newRun(t, 1).File("checkpoints/step-000001")
	if err := os.Remove(filepath.Join(noManifest, manifestFile)); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "book.txt")
	writeFile(t, text, "Once upon a time")
	for path, want := range map[string]string{
		filepath.Join(empty.Path, "nowhere"): "nowhere does not exist",
		empty.Path:                           "has no checkpoint yet",
		broken.Path:                          "config.json: is missing",
		noManifest:                           "manifest.json: is missing",
		t.TempDir():                          "holds neither a run nor a model",
		text:                                 `"Once upon a time" is not the name of a checkpoint`,
	} {
		if c, notice, err := Open(path); c != nil || notice != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %q %v, want %s", path, c, notice, err, want)
		}
	}
}

// A manifest that names files elsewhere, or says what is not so, is refused.
func TestManifestHostile(t *testing.T) {
	path := newRun(t, 1).File("checkpoints/step-000001/" + manifestFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"version": 1`, `"version": 2`, "version 2"},
		{`"step": 1`, `"step": 2`, "is of step 2"},
		{`"vocab.json"`, `"../vocab.json"`, `not as this program wrote it`}, // not in order
		{`"vocab.json"`, `"weights.bin"`, `"weights.bin" is not a file of a checkpoint`},
		{`"config.json"`, `"aonfig.json"`, "config.json is missing"},
		{`"size": `, `"size": 1`, "bytes, want 1"},
		{`"files"`, `"Files"`, "not as this program wrote it"},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		if text == string(good) {
			t.Fatalf("%s: nothing changed", c.old)
		}
		writeFile(t, path, text)
		_, _, err := Open(filepath.Dir(path))
		if format := (*FormatError)(nil); !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.new, err, c.want)
		}
	}
}

// A GPT-2 of another program: names without prefix, causal masks among the tensors, no tokenizer of
// ours, no manifest.
func TestOpenHuggingFace(t *testing.T) {
	weights := sample(t, sampleConfig, 3).Weights
	config, err := FormatConfig(sampleConfig, 3)
	if err != nil {
		t.Fatal(err)
	}
	head := Tensor{"lm_head.weight", weights[0].Shape, weights[0].Data}
	other := Tensor{"lm_head.weight", weights[0].Shape, weights[1].Data[:0:0]}
	other.Data = append(append(other.Data, weights[1].Data...), 1, 2, 3, 4)
	for _, c := range []struct {
		name    string
		config  string
		weights []Tensor
		want    string // error
	}{
		{"as it lies", string(config), weights, ""},
		{"without prefix", string(config), bare(weights), ""},
		{"with masks", string(config), append(bare(weights), Tensor{"h.0.attn.bias", []int{1}, []float32{1}}), ""},
		{"tied head repeated", string(config), append(bare(weights), head), ""},
		{"tied head differs", string(config), append(bare(weights), other), "says that they are tied"},
		{"deeper", strings.Replace(string(config), `"n_layer": 1`, `"n_layer": 2147483647`, 1), weights, "transformer.h.1.ln_1.weight is missing"},
		{"wider", strings.Replace(string(config), `"vocab_size": 4`, `"vocab_size": 2147483647`, 1), weights, "wants [2147483647,4]"},
		{"not zero", strings.Replace(string(config), `"n_ctx"`, `"bias": false, "n_ctx"`, 1), weights, "is not zero"},
		{"no config", "", weights, "neither a run nor a model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.config != "" {
				writeFile(t, filepath.Join(dir, configFile), c.config)
			}
			writeFile(t, filepath.Join(dir, modelFile), string(write(t, c.weights, nil)))
			got, notice, err := Open(dir)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want %s", err, c.want)
				}
				return
			}
			if err != nil || notice != "" {
				t.Fatal(notice, err)
			}
			requireSame(t, &Checkpoint{Config: sampleConfig, EndOfText: 3, TokenizerFiles: map[string][]byte{}, Weights: weights}, got)
		})
	}
}

// bare returns the tensors with names as published files have them.
func bare(tensors []Tensor) []Tensor {
	var list []Tensor
	for _, t := range tensors {
		t.Name = strings.TrimPrefix(t.Name, "transformer.")
		list = append(list, t)
	}
	return list
}

// Reading a run while it trains and prunes always finds a whole checkpoint, without a notice.
func TestOpenWhileTraining(t *testing.T) {
	r := newRun(t, 0)
	r.Keep, r.disk = 1, quickDisk{}
	checkpoints := make([]*Checkpoint, 40)
	for i := range checkpoints {
		checkpoints[i] = sample(t, sampleConfig, i+1)
	}
	done := make(chan error)
	go func() {
		for _, c := range checkpoints {
			if _, err := r.Save(c, false); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for opened := 0; ; opened++ {
		select {
		case err := <-done:
			if err != nil || opened == 0 {
				t.Fatalf("opened %d, %v", opened, err)
			}
			return
		default:
		}
		c, notice, err := OpenModel(r.Path)
		if err != nil || notice != "" {
			t.Fatal(notice, err)
		}
		if want := sample(t, sampleConfig, c.State.Step); want.Weights[0].Data[0] != c.Weights[0].Data[0] {
			t.Fatalf("step %d holds the weights of another", c.State.Step)
		}
	}
}
