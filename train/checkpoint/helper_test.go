package checkpoint

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tinylm/data"
	"tinylm/layers"
)

// sampleConfig is a model of a few hundred values, with the tokenizer of "abc".
var sampleConfig = layers.Config{Layers: 1, Heads: 2, Width: 4, Context: 3, Vocab: 4, Dropout: 0.1}.WithDefaults()

// sample returns a checkpoint of step whose values belong to that step.
func sample(t testing.TB, c layers.Config, step int) *Checkpoint {
	t.Helper()
	files, err := sampleTokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return &Checkpoint{
		Config: c, EndOfText: 3, TokenizerFiles: maps.Clone(files),
		Weights: fill(shapes(c), "", step), State: sampleState(step),
		Moments: append(fill(shapes(c), "m.", step+1), fill(shapes(c), "v.", step+2)...),
	}
}

// sampleTokenizer returns the files of the tokenizer of "abc", whose end-of-text is 3.
var sampleTokenizer = sync.OnceValues(func() (map[string][]byte, error) {
	tokenizer, err := data.NewChar([]byte("abc"))
	if err != nil {
		return nil, err
	}
	return data.Files(tokenizer, sampleConfig.Context)
})

type namedShape struct {
	name  string
	shape []int
}

// shapes lists the tensors of a model as the table of the GPT-2 format has them.
func shapes(c layers.Config) []namedShape {
	list := []namedShape{
		{"transformer.wte.weight", []int{c.Vocab, c.Width}},
		{"transformer.wpe.weight", []int{c.Context, c.Width}},
	}
	for i := range c.Layers {
		h := "transformer.h." + string(rune('0'+i)) + "."
		for _, s := range []struct {
			name    string
			in, out int
		}{
			{"ln_1", 0, c.Width}, {"attn.c_attn", c.Width, 3 * c.Width}, {"attn.c_proj", c.Width, c.Width},
			{"ln_2", 0, c.Width}, {"mlp.c_fc", c.Width, c.Inner}, {"mlp.c_proj", c.Inner, c.Width},
		} {
			weight, bias := namedShape{h + s.name + ".weight", []int{s.in, s.out}}, namedShape{h + s.name + ".bias", []int{s.out}}
			if s.in == 0 {
				weight.shape = []int{s.out}
			}
			list = append(list, weight)
			if s.in == 0 || !c.NoBias {
				list = append(list, bias)
			}
		}
	}
	list = append(list, namedShape{"transformer.ln_f.weight", []int{c.Width}}, namedShape{"transformer.ln_f.bias", []int{c.Width}})
	if c.Untied {
		list = append(list, namedShape{"lm_head.weight", []int{c.Vocab, c.Width}})
	}
	return list
}

func fill(list []namedShape, prefix string, seed int) []Tensor {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	var tensors []Tensor
	for _, s := range list {
		n := 1
		for _, d := range s.shape {
			n *= d
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(random.NormFloat64())
		}
		tensors = append(tensors, Tensor{prefix + s.name, s.shape, data})
	}
	return tensors
}

// requireSame compares a loaded checkpoint with the one saved.
func requireSame(t testing.TB, want, got *Checkpoint) {
	t.Helper()
	if got == nil {
		t.Fatal("no checkpoint")
	}
	located := *want
	located.Path = got.Path
	if reflect.DeepEqual(&located, got) { // quicker than a comparison that can say what differs
		return
	}
	if diff := cmp.Diff(want, got, sameBits, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(Checkpoint{}, "Path")); diff != "" {
		t.Fatalf("-saved +loaded:\n%s", diff)
	}
}

// newRun makes a run directory and saves checkpoints of the given steps in it.
func newRun(t testing.TB, steps ...int) *Run {
	t.Helper()
	r, err := CreateAt(filepath.Join(t.TempDir(), "run"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		save(t, r, step, false)
	}
	return r
}

func save(t testing.TB, r *Run, step int, best bool) string {
	t.Helper()
	path, err := r.Save(sample(t, sampleConfig, step), best)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// list returns the names in a directory, hidden ones too.
func list(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
