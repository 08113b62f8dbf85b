package generate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"tinylm/graph/machine"
	"tinylm/internal/device/cpu"
	"tinylm/internal/device/cpu/simd"
	"tinylm/layers"
)

// everySet runs f on each set of kernels that this machine can run, plain Go last.
func everySet(t *testing.T, f func(t *testing.T, d *cpu.Device)) {
	for _, set := range append(simd.Sets(), nil) {
		d := cpu.NewWith(2, set)
		t.Run(d.ISA(), func(t *testing.T) { f(t, d) })
	}
}

// configs are models of several kinds.
var configs = []layers.Config{
	{Layers: 2, Heads: 2, Width: 16, Context: 40, Vocab: 9},
	{Layers: 1, Heads: 1, Width: 5, Context: 21, Vocab: 130, Activation: layers.ReLU, NoBias: true},
	{Layers: 3, Heads: 3, Width: 51, Context: 40, Vocab: 65, Untied: true, Dropout: 0.5},
	{Layers: 1, Heads: 4, Width: 68, Context: 1, Vocab: 33, Activation: layers.GELUExact},
	{Layers: 2, Heads: 1, Width: 33, Context: 2, Vocab: 17},
}

// newGPT returns a model with weights large enough that its logits depend on its past.
func newGPT(t *testing.T, c layers.Config, typ tensor.Dtype) *layers.GPT {
	t.Helper()
	single, err := layers.NewGPT(c, tensor.Float32)
	if err != nil {
		t.Fatal(err)
	}
	single.Init(3)
	for i := range single.Params().Flat32()[:single.Params().DecayLen()] {
		single.Params().Flat32()[i] *= 10
	}
	if typ == tensor.Float32 {
		return single
	}
	double, err := layers.NewGPT(c, typ)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range single.Params().Flat32() {
		double.Params().Flat64()[i] = float64(w)
	}
	return double
}

// newRecompute returns what gives the logits (V) after the tokens of a window, by a graph of the whole context in
// float64, composed of primitive nodes.
func newRecompute(t *testing.T, c layers.Config) func(window []int32) []float64 {
	g, err := newGPT(t, c, tensor.Float64).LogitsGraph(1, c.Context, layers.GraphOptions{Composed: true})
	if err != nil {
		t.Fatal(err)
	}
	vm, err := machine.New(g.Graph, machine.Outputs(g.Logits))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]float64{}
	return func(window []int32) []float64 {
		key := fmt.Sprint(window)
		if known[key] == nil {
			copy(g.IDs.Data, window)
			if err := vm.RunAll(); err != nil {
				t.Fatal(err)
			}
			row := (len(window) - 1) * c.Vocab
			known[key] = slices.Clone(g.Logits.Value().Data().([]float64)[row:][:c.Vocab])
		}
		return known[key]
	}
}

// tokens returns n ids that look random.
func tokens(n, vocab, seed int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((i*i*7 + i*seed/3 + seed) % vocab)
	}
	return ids
}

// slid returns the window after one more token.
func slid(window []int32, id int32, context int) []int32 {
	window = append(slices.Clone(window), id)
	if len(window) > context {
		window = window[len(window)-max(1, context/2):]
	}
	return window
}

func wantLogits(t *testing.T, what string, got, want []float64, limit float64) {
	t.Helper()
	largest := 0.0
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	for i := range want {
		if off := math.Abs(got[i]-want[i]) / largest; !(off <= limit) || len(got) != len(want) {
			t.Fatalf("%s: logit %d of %d is %v, want %v of %d: off by %.2g of the largest", what, i, len(got), got[i], want[i], len(want), off)
		}
	}
}

// TestDecoderLogits compares the logits after every token, from prompts of several lengths until windows have
// slid, with those of a graph that computes the whole window again.
func TestDecoderLogits(t *testing.T) {
	for i, c := range configs {
		want := newRecompute(t, c)
		everySet(t, func(t *testing.T, dev *cpu.Device) {
			for typ, limit := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 1e-5} {
				d, err := newModel(newGPT(t, c, typ), nil, dev).NewDecoder(1)
				if err != nil {
					t.Fatal(err)
				}
				for _, prompt := range []int{1, 15, 18, 60, 200} {
					what := fmt.Sprintf("model %d, %v, prompt of %d", i, typ, prompt)
					ids := tokens(prompt, c.Vocab, prompt)
					if err := d.Fill(0, ids); err != nil {
						t.Fatal(err)
					}
					window := ids[max(0, len(ids)-c.Context):]
					wantLogits(t, what, d.Logits(0), want(window), limit)
					for i, id := range tokens(30, c.Vocab, 5) {
						if err := d.Next([]int{0}, []int32{id}); err != nil {
							t.Fatal(err)
						}
						window = slid(window, id, c.Context)
						if d.Position(0) != len(window) {
							t.Fatalf("%s, token %d: %d tokens seen, want %d", what, i, d.Position(0), len(window))
						}
						wantLogits(t, fmt.Sprintf("%s, token %d", what, i), d.Logits(0), want(window), limit)
					}
				}
			}
		})
	}
}

// TestDecoderTexts decodes twelve texts of different lengths together, some of them left out now and then and one a
// copy of another, and compares with each alone, to the bit.
func TestDecoderTexts(t *testing.T) {
	everySet(t, func(t *testing.T, dev *cpu.Device) {
		c := configs[2]
		m := newModel(newGPT(t, c, tensor.Float32), nil, dev)
		prompts := [][]int32{tokens(3, c.Vocab, 1), tokens(39, c.Vocab, 2), tokens(20, c.Vocab, 3), tokens(100, c.Vocab, 4), nil}
		prompts[4] = prompts[2]
		for i := range 7 {
			prompts = append(prompts, tokens(2+3*i, c.Vocab, 5+i))
		}
		together, err := m.NewDecoder(len(prompts))
		if err != nil {
			t.Fatal(err)
		}
		var alone []*Decoder
		for i, p := range prompts {
			d, err := m.NewDecoder(1)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Fill(0, p); err != nil {
				t.Fatal(err)
			}
			alone = append(alone, d)
			if i == 4 {
				together.Copy(i, 2)
			} else if err := together.Fill(i, p); err != nil {
				t.Fatal(err)
			}
		}
		for step := range 75 {
			var texts []int
			var ids []int32
			for i := range prompts {
				if (step+i)%4 == 0 && i != 1 {
					continue
				}
				texts, ids = append(texts, i), append(ids, int32((step*step+7*i)%c.Vocab))
				if err := alone[i].Next([]int{0}, ids[len(ids)-1:]); err != nil {
					t.Fatal(err)
				}
			}
			if err := together.Next(texts, ids); err != nil {
				t.Fatal(err)
			}
			for i := range prompts {
				if !slices.Equal(together.Logits(i), alone[i].Logits(0)) || together.Position(i) != alone[i].Position(0) {
					t.Fatalf("step %d: text %d has other logits in company than alone", step, i)
				}
			}
		}
	})
}

func TestDecoderErrors(t *testing.T) {
	m := New(newGPT(t, configs[0], tensor.Float32), nil)
	if _, err := m.NewDecoder(0); err == nil || !strings.Contains(err.Error(), "a cache of 0 texts") {
		t.Errorf("no texts: %v", err)
	}
	d, err := m.NewDecoder(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Fill(0, nil); err == nil || !strings.Contains(err.Error(), "at least one token") {
		t.Errorf("no tokens: %v", err)
	}
	if err := d.Fill(0, []int32{1, 9, 2}); err == nil || !strings.Contains(err.Error(), "id 9 at position [0 1] is outside 0..8") {
		t.Errorf("an id outside the vocabulary: %v", err)
	}
	if err := d.Fill(0, []int32{1}); err != nil {
		t.Fatal(err)
	}
	if err := d.Next([]int{0, 0}, []int32{1, 2}); err == nil || !strings.Contains(err.Error(), "both have row 0") {
		t.Errorf("one text twice: %v", err)
	}
}

// TestTokenAllocates looks at the memory that a token takes, model and sampler together.
func TestTokenAllocates(t *testing.T) {
	m := New(newGPT(t, layers.Config{Layers: 2, Heads: 2, Width: 16, Context: 1000, Vocab: 50}, tensor.Float32), nil)
	d, err := m.NewDecoder(3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := d.Fill(i, tokens(5+i, 50, i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []Options{{}, {Temperature: 1}, {Temperature: 1, TopK: 7}, {Temperature: 1, TopP: 0.7}, {Temperature: 1, TopK: 30, TopP: 0.9}} {
		s := newSampler(o)
		texts, ids := []int{0, 1, 2}, make([]int32, 3)
		token := func() {
			for i := range texts {
				if ids[i], err = s.draw(d.Logits(i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Next(texts, ids); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(50, token); n >= 1 { // it is rounded down: the runtime itself may allocate now and then
			t.Errorf("%+v: a token takes %v allocations, want none", o, n)
		}
	}
}

func TestPieceLen(t *testing.T) {
	for _, c := range []struct{ n, room, context, want int }{
		{1, 64, 64, 1}, {2, 64, 64, 16}, {16, 64, 64, 16}, {17, 64, 64, 32}, {33, 64, 64, 32}, {48, 64, 64, 64},
		{64, 64, 64, 64}, {1, 5, 5, 1}, {3, 5, 5, 5}, {17, 20, 20, 20}, {65, 100, 100, 64}, {84, 100, 100, 100},
		{500, 1024, 1024, 512}, {700, 1024, 1024, 512}, {800, 1024, 1024, 1024}, {188, 512, 1024, 128},
		{5, 15, 64, 1}, {15, 15, 15, 15}, {17, 17, 64, 16}, {60, 60, 64, 32},
	} {
		if got := pieceLen(c.n, c.room, c.context); got != c.want {
			t.Errorf("%d tokens, room for %d of %d: a piece of %d, want %d", c.n, c.room, c.context, got, c.want)
		}
	}
}
