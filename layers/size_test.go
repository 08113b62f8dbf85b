package layers

import (
	"maps"
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
			if planned := float64(plan.Step); step > planned || !composed && step < planned/MostOverLeast {
				t.Errorf("%s (composed %v): at least %v bytes for the step; the plan has %v", name, composed, step, planned)
			}
		}
	}
}

// The products of a training step's plan are those that FLOPsPerToken counts, but for three things: a bias or
// norm counts there as if it were part of a product; causal attention sees (T+1)/2 tokens on average, there
// T/2; and attention's gradient makes the scores once more, a seventh product beside the six.
func TestPlannedFLOPs(t *testing.T) {
	for name, c := range sizes {
		c = c.WithDefaults()
		const batch = 3
		m := must(NewGPT(c, Float32))
		plan := must(m.TrainPlan(batch, c.Context, GraphOptions{}))
		perToken := must(c.FLOPsPerToken())
		for _, w := range m.Params().List() {
			if len(w.Shape) == 1 {
				perToken -= 6 * int64(w.Len())
			}
		}
		if c.Untied {
			perToken -= 6 * int64(c.Vocab*c.Width) // the embedding is looked up, not multiplied
		}
		attention := int64(c.Layers) * int64(c.Width)
		perToken += attention * int64(7*(c.Context+1)-6*c.Context)
		if want := perToken * batch * int64(c.Context); plan.FLOPs() != want {
			t.Errorf("%s: %d operations, want %d", name, plan.FLOPs(), want)
		}
	}
	// on a real size the difference is small
	c := Config{Layers: 6, Heads: 6, Width: 384, Context: 256, Vocab: 65}
	plan := must(must(NewGPT(c, Float32)).TrainPlan(1, c.Context, GraphOptions{}))
	if ratio := float64(plan.FLOPs()) / float64(c.Context) / float64(must(c.FLOPsPerToken())); ratio < 0.98 || ratio > 1.02 {
		t.Errorf("planned %.4f of the operations that are counted", ratio)
	}
}

// What training a model of six layers of width 384 holds, with dropout too: weights, gradients, both moments,
// and the results of a step on 16 windows of 256 tokens.
func TestTrainMemory(t *testing.T) {
	for _, dropout := range []float64{0, 0.2} {
		c := Config{Layers: 6, Heads: 6, Width: 384, Context: 256, Vocab: 65, Dropout: dropout}
		memory := must(must(NewGPT(c, Float32)).TrainMemory(16, c.Context, GraphOptions{}))
		if want := int64(4 * 4 * 10_770_816); memory.Total()-memory.Step != want {
			t.Errorf("%d bytes for weights, gradients and moments, want %d", memory.Total()-memory.Step, want)
		}
		if memory.Total() > 600_000_000 {
			t.Errorf("dropout %v: %d bytes", dropout, memory.Total())
		}
	}
}

// A training step's plan keeps no layer norm's output, no activation's and no attention weights over the
// forward part, adds up what goes around the layers in place, and has no addition of its own left but that of the
// positions.
func TestTrainPlan(t *testing.T) {
	c := Config{Layers: 2, Heads: 2, Width: 128, Context: 128, Vocab: 65}
	plan := must(must(NewGPT(c, Float32)).TrainPlan(16, c.Context, GraphOptions{}))
	count := map[string]int{}
	for _, s := range plan.Steps {
		count[s.Kind()]++
		if s.Again {
			count["again"]++
		}
		if strings.HasSuffix(s.Kernel, "add") && !s.InPlace {
			t.Errorf("%+v is not in place", s)
		}
	}
	want := map[string]int{
		"embedding": 2, "add": 1, "layernorm": 5 + 4, "again": 4, // the last norm is read again soon
		"attention": 2, "attention.grad": 2, "crossentropy.both": 1,
		"linear": 9 + 9, "linear.wgrad": 9, "layernorm.grad": 5, "embedding.grad": 2,
		"sumleading": 8 + 1, // of the biases and the positions
	}
	if !maps.Equal(count, want) {
		t.Errorf("kernels %v, want %v", count, want)
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
