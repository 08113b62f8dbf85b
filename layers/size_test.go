package layers

import (
	"strings"
	"testing"
)

// sizes are configurations of every kind that has other parameters.
var sizes = map[string]Config{
	"plain":     {Layers: 2, Heads: 2, Width: 12, Context: 9, Vocab: 11},
	"no bias":   {Layers: 3, Heads: 1, Width: 8, Context: 4, Vocab: 5, NoBias: true, Activation: ReLU},
	"untied":    {Layers: 1, Heads: 3, Width: 6, Context: 7, Vocab: 13, Untied: true, Dropout: 0.1},
	"wide":      {Layers: 2, Heads: 2, Width: 8, Context: 5, Vocab: 3, Inner: 50},
	"narrow":    {Layers: 2, Heads: 2, Width: 8, Context: 5, Vocab: 300, Inner: 1, Activation: GELUExact},
	"all apart": {Layers: 1, Heads: 1, Width: 2, Context: 3, Vocab: 2, Inner: 3, NoBias: true, Untied: true},
}

// The count is of the weights that a model declares.
func TestParameterCount(t *testing.T) {
	for name, c := range sizes {
		total, without, err := c.ParameterCount()
		if want := must(NewGPT(c, Float32)).Params().Len(); err != nil || total != want || without != want-c.Context*c.Width {
			t.Errorf("%s: %d parameters, %d without positions, %v; the model has %d", name, total, without, err, want)
		}
	}
}

// What is needed at least is not more than what the machine plans, and the better part of it.
func TestLeastTrainMemory(t *testing.T) {
	for name, c := range sizes {
		for _, composed := range []bool{false, true} {
			const batch = 16
			weights, step, err := c.LeastTrainMemory(batch)
			if err != nil {
				t.Fatal(err)
			}
			plan := must(must(NewGPT(c, Float32)).TrainMemory(batch, c.Context, GraphOptions{Composed: composed}))
			if want := float64(plan.Total() - plan.Step); weights != want {
				t.Errorf("%s: %v bytes for weights, gradients and moments, want %v", name, weights, want)
			}
			if planned := float64(plan.Step); step > planned || !composed && step < planned/4 {
				t.Errorf("%s (composed %v): at least %v bytes for the step; the plan has %v", name, composed, step, planned)
			}
		}
	}
}

// Sizes beyond all numbers are an error, not a wrong count, and take no time.
func TestImpossibleSizes(t *testing.T) {
	for _, c := range []Config{
		{Layers: 1 << 62, Heads: 1, Width: 8, Context: 4, Vocab: 5},
		{Layers: 1, Heads: 1, Width: 1 << 40, Context: 4, Vocab: 5},
		{Layers: 1, Heads: 1, Width: 8, Context: 1 << 62, Vocab: 5},
		{Layers: 1, Heads: 1, Width: 8, Context: 4, Vocab: 5, Inner: 1 << 62},
	} {
		if _, _, err := c.ParameterCount(); err == nil || !strings.Contains(err.Error(), "larger than any machine holds") {
			t.Errorf("%+v: error %v", c, err)
		}
		if _, _, err := c.LeastTrainMemory(1); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	if weights, step, err := (Config{Layers: 1, Heads: 1, Width: 8, Context: 16, Vocab: 5}).LeastTrainMemory(1 << 62); err != nil || !(step > 1e20) || weights > 1e6 {
		t.Errorf("a batch of 2^62: %v and %v bytes, %v", weights, step, err)
	}
}
