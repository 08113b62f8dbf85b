package checkpoint

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	second "github.com/nlpodyssey/safetensors"

	"tinylm/layers"
)

func TestSaveAndOpen(t *testing.T) {
	for name, change := range map[string]func(*layers.Config){
		"tied":     func(*layers.Config) {},
		"untied":   func(c *layers.Config) { c.Untied = true },
		"no bias":  func(c *layers.Config) { c.NoBias = true },
		"two deep": func(c *layers.Config) { c.Layers, c.Inner = 2, 5 },
	} {
		t.Run(name, func(t *testing.T) {
			config := sampleConfig
			change(&config)
			want := sample(t, config, 500)
			want.State.BestValLoss = math.NaN()
			r := newRun(t)
			path, err := r.Save(want, true)
			if err != nil || path != filepath.Join(r.Path, "checkpoints", "step-000500") {
				t.Fatal(path, err)
			}
			for _, where := range []string{r.Path, path, r.File("checkpoints/best"), r.File("checkpoints/latest")} {
				got, notice, err := Open(where)
				if err != nil || notice != "" || got.Path != path {
					t.Fatal(where, notice, err)
				}
				requireSame(t, want, got)
			}
			model, _, err := OpenModel(r.Path)
			if err != nil {
				t.Fatal(err)
			}
			want.Moments = nil
			requireSame(t, want, model)
		})
	}
}

func TestSaveFiles(t *testing.T) {
	r := newRun(t)
	c := sample(t, layers.Config{Layers: 1, Heads: 2, Width: 4, Context: 3, Vocab: 4, NoBias: true}.WithDefaults(), 5)
	slices.Reverse(c.Weights) // any order will do
	path, err := r.Save(c, false)
	if err != nil {
		t.Fatal(err)
	}
	want := "config.json generation_config.json manifest.json merges.txt model.safetensors special_tokens_map.json " +
		"tokenizer.json tokenizer_config.json training.json training.safetensors vocab.json"
	if got := list(t, path); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := list(t, r.File(Dir)); got != "latest step-000005" {
		t.Errorf("checkpoints: %s", got)
	}
	if text, err := os.ReadFile(r.File("checkpoints/latest")); string(text) != "step-000005\n" {
		t.Errorf("latest: %q, %v", text, err)
	}
	file, err := os.ReadFile(filepath.Join(path, modelFile))
	if err != nil {
		t.Fatal(err)
	}
	model, err := second.Deserialize(file)
	if err != nil {
		t.Fatal(err)
	}
	// A reader without a bias-free mode finds zeros.
	for name, n := range map[string]int{"attn.c_attn": 12, "attn.c_proj": 4, "mlp.c_fc": 16, "mlp.c_proj": 4} {
		bias, ok := model.Tensor("transformer.h.0." + name + ".bias")
		if !ok || string(bias.Data()) != strings.Repeat("\x00", 4*n) {
			t.Errorf("%s.bias: %v, %x", name, ok, bias.Data())
		}
	}
	if model.Len() != 16 || slices.Contains(model.Names(), "lm_head.weight") {
		t.Errorf("tensors %v, want the 16 of a tied GPT-2 of one block", model.Names())
	}
	generation, err := os.ReadFile(filepath.Join(path, generationFile))
	if err != nil || !strings.Contains(string(generation), `"eos_token_id": 3`) {
		t.Errorf("%s, %v", generation, err)
	}
}

func TestSaveRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		change func(*Checkpoint)
		want   string
	}{
		{func(c *Checkpoint) { c.Weights[3].Data[2] = nan }, "transformer.h.0.ln_1.bias has the value NaN at index 2"},
		{func(c *Checkpoint) { c.Moments[18].Data[0] = inf }, "v.transformer.h.0.ln_1.weight has the value -Inf at index 0"},
		{func(c *Checkpoint) { c.Weights = c.Weights[1:] }, "transformer.wte.weight is missing"},
		{func(c *Checkpoint) { c.Weights[0].Shape = []int{2, 8} }, "transformer.wte.weight has shape [2,8], the configuration wants [4,4]"},
		{func(c *Checkpoint) { c.Weights[0].Data = c.Weights[0].Data[1:] }, "15 values"},
		{func(c *Checkpoint) { c.Weights = append(c.Weights, c.Weights[0]) }, "two tensors are named transformer.wte.weight"},
		{func(c *Checkpoint) { c.Weights = append(c.Weights, Tensor{"lm_head.weight", []int{1}, []float32{1}}) }, "none of this model's"},
		{func(c *Checkpoint) { c.Moments = nil }, "m.transformer.wte.weight is missing"},
		{func(c *Checkpoint) { c.State = nil }, "training state"},
		{func(c *Checkpoint) { c.State.Step = -1 }, "training.json"},
		{func(c *Checkpoint) { c.EndOfText = 4 }, "end-of-text id 4"},
		{func(c *Checkpoint) { c.Config.Heads = 3 }, "not divisible"},
		{func(c *Checkpoint) { delete(c.TokenizerFiles, "tokenizer.json") }, "tokenizer.json"},
		{func(c *Checkpoint) { c.TokenizerFiles["../x"] = nil }, `"../x"`},
		{func(c *Checkpoint) { c.TokenizerFiles["config.json"] = nil }, `"config.json"`},
	} {
		r := newRun(t, 4)
		bad := sample(t, sampleConfig, 5)
		c.change(bad)
		if _, err := r.Save(bad, true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
		if got := list(t, r.File(Dir)); got != "latest step-000004" {
			t.Errorf("%s: left %s", c.want, got)
		}
	}
	r, bad := newRun(t), sample(t, sampleConfig, 5)
	bad.Weights[1].Data[5] = nan
	_, err := r.Save(bad, false)
	if nonFinite := (*NonFiniteError)(nil); !errors.As(err, &nonFinite) || nonFinite.Tensor != "transformer.wpe.weight" || nonFinite.Index != 5 {
		t.Errorf("error %#v, want a *NonFiniteError", err)
	}
}

func TestKeepAndBest(t *testing.T) {
	r := newRun(t)
	r.Keep = 2
	for _, c := range []struct {
		step int
		best bool
		want string
	}{
		{0, false, "latest step-000000"},
		{1, true, "best latest step-000000 step-000001"},
		{2, false, "best latest step-000001 step-000002"},
		{3, false, "best latest step-000001 step-000002 step-000003"},
		{4, false, "best latest step-000001 step-000003 step-000004"},
		{5, true, "best latest step-000004 step-000005"},
		{1_000_000, false, "best latest step-000005 step-1000000"},
	} {
		save(t, r, c.step, c.best)
		if got := list(t, r.File(Dir)); got != c.want {
			t.Errorf("after step %d: %s, want %s", c.step, got, c.want)
		}
	}
	best, notice, err := Open(r.File("checkpoints/best"))
	if err != nil || notice != "" || best.State.Step != 5 {
		t.Errorf("best: %v %q %v", best, notice, err)
	}
}

// Only whole checkpoints of ours are pruned: not what somebody put there, nor one with a note in it,
// nor those of steps that training has yet to come to again.
func TestPruneLeavesOthers(t *testing.T) {
	r := newRun(t, 1, 2, 3, 9)
	writeFile(t, r.File("checkpoints/step-000002/notes.txt"), "mine")
	writeFile(t, r.File("checkpoints/step-1/config.json"), "mine")
	writeFile(t, r.File("checkpoints/step-000000"), "mine")
	r.Keep = 1
	save(t, r, 4, false)
	if got, want := list(t, r.File(Dir)), "latest step-000000 step-000002 step-000004 step-000009 step-1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	writeFile(t, r.File("checkpoints/best"), "damaged")
	save(t, r, 5, false)
	if got := list(t, r.File(Dir)); !strings.Contains(got, "step-000004") {
		t.Errorf("pruned although nobody knows the best: %s", got)
	}
}

// Saving a step again replaces its checkpoint.
func TestSaveAgain(t *testing.T) {
	r := newRun(t, 4)
	for seconds := range 3 {
		want := sample(t, sampleConfig, 4)
		want.State.Seconds = float64(seconds)
		if _, err := r.Save(want, false); err != nil {
			t.Fatal(err)
		}
		got, notice, err := Open(r.Path)
		if err != nil || notice != "" {
			t.Fatal(notice, err)
		}
		requireSame(t, want, got)
		if got := list(t, r.File(Dir)); got != "latest step-000004" {
			t.Errorf("left %s", got)
		}
	}
}
