package layers

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
)

// small is a GPT with everything in it.
var small = Config{Layers: 2, Heads: 3, Width: 12, Context: 9, Vocab: 11}

// newSmall returns a model whose weights are far from their first values, so that nothing is near zero.
func newSmall(c Config, dt tensor.Dtype) *GPT {
	m := must(NewGPT(c, dt))
	for i, w := range m.Params().List() {
		a := randomArray(i+1, w.Shape...)
		for j := range a.Data {
			a.Data[j] = 0.4*a.Data[j] + w.Initial.Mean
		}
		if err := m.Params().Load(w.Name, w.Shape, a.f32()); err != nil {
			panic(err)
		}
	}
	return m
}

// fillSmall writes ids, targets and random state into the inputs of a graph.
func fillSmall(g *Graph, vocab int) {
	for i := range g.IDs.Data {
		g.IDs.Data[i] = int32((i*7 + i*i) % vocab)
	}
	for i := range g.Targets.Data {
		g.Targets.Data[i] = int32((i*5 + 3) % vocab)
	}
	if len(g.Targets.Data) > 3 {
		g.Targets.Data[3] = graph.IgnoreIndex
	}
	copy(g.RNG.Data, []int64{42, 7, 100})
}

// operatorNames lists the operators of a graph, as Gorgonia prints them.
func operatorNames(g *gorgonia.ExprGraph) string {
	var names []string
	for _, n := range g.AllNodes() {
		if n.Op() != nil {
			names = append(names, n.Op().String())
		}
	}
	return strings.Join(names, "\n")
}

func TestFusedEqualsComposed(t *testing.T) {
	for _, dropout := range []float64{0, 0.3} {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			t.Run(fmt.Sprintf("dropout %v/%v", dropout, dt), func(t *testing.T) {
				c := small
				c.Dropout = dropout
				m := newSmall(c, dt)
				var results [2][][]float64
				for i, composed := range []bool{false, true} {
					g := must(m.TrainGraph(2, 9, GraphOptions{Composed: composed}))
					fillSmall(g, c.Vocab)
					run(t, g.Graph, append(slices.Clone(g.Grads), g.Logits, g.Loss, g.Count)...)
					for _, n := range append(slices.Clone(g.Grads), g.Logits, g.Loss, g.Count) {
						results[i] = append(results[i], floats(n))
					}
				}
				tol := 1e-12
				if dt == tensor.Float32 {
					tol = 2e-5
				}
				for i := range results[0] {
					near(t, fmt.Sprint("result ", i), results[1][i], results[0][i], tol)
				}
			})
		}
	}
}

func TestComposedHasNoFusedKernel(t *testing.T) {
	c := small
	c.Dropout = 0.1
	m := newSmall(c, tensor.Float32)
	fusedGraph := must(m.TrainGraph(1, 4, GraphOptions{}))
	composedGraph := must(m.TrainGraph(1, 4, GraphOptions{Composed: true}))
	for _, kernel := range []string{"linear", "embedding", "layernorm", "attention", "activation", "crossentropy"} {
		if !strings.Contains(operatorNames(fusedGraph.Graph), kernel) {
			t.Errorf("the fused form has no %s", kernel)
		}
		if strings.Contains(operatorNames(composedGraph.Graph), kernel) {
			t.Errorf("the composed form holds a %s kernel", kernel)
		}
	}
	if got := len(fusedGraph.Scope.AttentionWeights); got != 0 {
		t.Errorf("fused attention gives %d weights", got)
	}
	if got := len(composedGraph.Scope.AttentionWeights); got != c.Layers {
		t.Errorf("composed attention gives %d weights, want one of each of %d layers", got, c.Layers)
	}
}

func TestDropoutOnlyInTraining(t *testing.T) {
	c := small
	c.Dropout = 0.5
	loss := func(m *GPT, build func(*GPT) (*Graph, error), step int64) float64 {
		g := must(build(m))
		fillSmall(g, c.Vocab)
		g.RNG.Data[1] = step
		run(t, g.Graph, g.Loss)
		return floats(g.Loss)[0]
	}
	train := func(m *GPT) (*Graph, error) { return m.TrainGraph(2, 5, GraphOptions{}) }
	eval := func(m *GPT) (*Graph, error) { return m.EvalGraph(2, 5, GraphOptions{}) }
	with, without := newSmall(c, tensor.Float32), newSmall(small, tensor.Float32)

	if a, b := loss(with, train, 1), loss(with, train, 1); a != b {
		t.Errorf("the same step gives %v and %v", a, b)
	}
	if a, b := loss(with, train, 1), loss(with, train, 2); a == b {
		t.Errorf("two steps drop the same elements: both losses are %v", a)
	}
	want := loss(without, train, 1)
	if got := loss(with, eval, 1); got != want {
		t.Errorf("evaluation gives %v, a model without dropout %v", got, want)
	}
	g := must(eval(with))
	if g.RNG.Node != nil || g.Grads != nil || strings.Contains(operatorNames(g.Graph), "dropout") {
		t.Error("the evaluation graph has dropout or gradients")
	}
	if g := must(train(without)); g.RNG.Node != nil {
		t.Error("a graph without dropout takes random numbers")
	}
}

// Every dropout has a site of its own, the same in both forms: embeddings, then of each block the attention
// weights and the two residual branches.
func TestDropoutSites(t *testing.T) {
	c := small
	c.Dropout = 0.1
	m := newSmall(c, tensor.Float32)
	site := regexp.MustCompile(`(?m)^(?:dropout|keepmask|attention)\{.*Site:(\d+)`)
	for _, composed := range []bool{false, true} {
		g := gorgonia.NewGraph()
		b := &Graph{Graph: g, Scope: NewScope(g, m.Params())}
		b.Scope.Train, b.Scope.Composed = true, composed
		if err := m.forward(b, 1, 4); err != nil {
			t.Fatal(err)
		}
		var sites []string
		for _, match := range site.FindAllStringSubmatch(operatorNames(g), -1) {
			sites = append(sites, match[1])
		}
		slices.Sort(sites)
		if want := "0 1 2 3 4 5 6"; strings.Join(sites, " ") != want {
			t.Errorf("composed=%v: sites %v, want %s", composed, sites, want)
		}
	}
}

// In a causal model the logits before token t do not depend on it, to the bit.
func TestCausal(t *testing.T) {
	eachForm(t, func(t *testing.T, dt tensor.Dtype, composed bool) {
		m := newSmall(small, dt)
		g := must(m.LogitsGraph(2, 9, GraphOptions{Composed: composed}))
		fillSmall(g, small.Vocab)
		run(t, g.Graph, g.Logits)
		before := floats(g.Logits)
		for tok := range 9 {
			old := g.IDs.Data[9+tok] // in the second window
			g.IDs.Data[9+tok] = (old + 1) % int32(small.Vocab)
			run(t, g.Graph, g.Logits)
			g.IDs.Data[9+tok] = old
			after := floats(g.Logits)
			at := (9 + tok) * small.Vocab
			if !slices.Equal(after[:at], before[:at]) {
				t.Errorf("token %d changed logits before it", tok)
			}
			if slices.Equal(after[at:at+small.Vocab], before[at:at+small.Vocab]) {
				t.Errorf("token %d did not change its own logits", tok)
			}
		}
	})
}

func TestNotCausal(t *testing.T) {
	m := newSmall(small, tensor.Float32)
	m.Causal = false
	g := must(m.LogitsGraph(1, 9, GraphOptions{}))
	fillSmall(g, small.Vocab)
	run(t, g.Graph, g.Logits)
	before := floats(g.Logits)
	g.IDs.Data[8] = (g.IDs.Data[8] + 1) % int32(small.Vocab)
	run(t, g.Graph, g.Logits)
	if slices.Equal(floats(g.Logits)[:small.Vocab], before[:small.Vocab]) {
		t.Error("without the mask the first logits do not see the last token")
	}
}

// A text padded at the right gives the logits of the text alone.
func TestPaddedLogits(t *testing.T) {
	m := newSmall(small, tensor.Float64)
	long := must(m.LogitsGraph(1, 9, GraphOptions{}))
	fillSmall(long, small.Vocab)
	run(t, long.Graph, long.Logits)
	for _, n := range []int{1, 4} {
		short := must(m.LogitsGraph(1, n, GraphOptions{}))
		copy(short.IDs.Data, long.IDs.Data)
		run(t, short.Graph, short.Logits)
		near(t, "logits", floats(long.Logits)[:n*small.Vocab], floats(short.Logits), 1e-12)
	}
}

func TestVariants(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no bias":              func(c *Config) { c.NoBias = true },
		"untied":               func(c *Config) { c.Untied = true },
		"inner":                func(c *Config) { c.Inner = 5 },
		"relu":                 func(c *Config) { c.Activation = ReLU },
		"exact gelu":           func(c *Config) { c.Activation = GELUExact },
		"fan in":               func(c *Config) { c.Init = InitFanIn },
		"epsilon":              func(c *Config) { c.Epsilon = 0.1 },
		"width 9, heads 3":     func(c *Config) { c.Width, c.Heads = 9, 3 },
		"one of everything":    func(c *Config) { *c = Config{Layers: 1, Heads: 1, Width: 1, Context: 9, Vocab: 11} },
		"head width 1":         func(c *Config) { c.Heads = 12 },
		"context above window": func(c *Config) { c.Context = 20 },
	} {
		t.Run(name, func(t *testing.T) {
			c := small
			change(&c)
			m := must(NewGPT(c, tensor.Float64))
			m.Init(3)
			var losses []float64
			for _, composed := range []bool{false, true} {
				g := must(m.TrainGraph(2, 9, GraphOptions{Composed: composed}))
				fillSmall(g, c.Vocab)
				run(t, g.Graph, append(slices.Clone(g.Grads), g.Loss, g.Count)...)
				if count := floats(g.Count)[0]; count != 17 { // one of 18 is ignored
					t.Errorf("count %v, want 17", count)
				}
				losses = append(losses, floats(g.Loss)[0])
				for i, w := range m.Params().List() {
					if got := len(floats(g.Grads[i])); got != w.Len() {
						t.Errorf("gradient of %s has %d elements, want %d", w.Name, got, w.Len())
					}
				}
			}
			near(t, "composed loss", losses[1:], losses[:1], 1e-12)
			// A fresh model knows nothing: about log V for each target, exactly so with one channel,
			// whose layer norm gives its bias, zero.
			mean := losses[0] / 17
			if c.Width == 1 {
				near(t, "loss", []float64{mean}, []float64{math.Log(11)}, 1e-12)
			} else if c.Init != InitFanIn && math.Abs(mean-math.Log(11)) > 0.1 {
				t.Errorf("first loss %.3f, want about log 11 = %.3f", mean, math.Log(11))
			}
		})
	}
}

// Graphs run on Gorgonia's own machine too, to the same numbers: ours joins steps, whose sums are rounded
// elsewhere.
func TestTapeMachine(t *testing.T) {
	m := newSmall(small, tensor.Float32)
	build := func() *Graph {
		g := must(m.TrainGraph(2, 6, GraphOptions{}))
		fillSmall(g, small.Vocab)
		return g
	}
	ours, tape := build(), build()
	run(t, ours.Graph, append(slices.Clone(ours.Grads), ours.Loss)...)
	vm := gorgonia.NewTapeMachine(tape.Graph)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	for i, n := range append(slices.Clone(ours.Grads), ours.Loss) {
		other := append(slices.Clone(tape.Grads), tape.Loss)[i]
		near(t, fmt.Sprint("result ", i), floats(n), floats(other), 1e-6)
	}
}

func TestGPTErrors(t *testing.T) {
	config := func(change func(*Config)) error {
		c := small
		change(&c)
		_, err := NewGPT(c, tensor.Float32)
		return err
	}
	m := must(NewGPT(small, tensor.Float32))
	build := func(batch, time int) error {
		_, err := m.TrainGraph(batch, time, GraphOptions{})
		return err
	}
	_, badType := NewGPT(small, tensor.Int)
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"width 10, heads 3", config(func(c *Config) { c.Width, c.Heads = 10, 3 }), []string{"10", "3", "divisible"}},
		{"heads 0", config(func(c *Config) { c.Heads = 0 }), []string{"n-head", "0"}},
		{"width 0", config(func(c *Config) { c.Width = 0 }), []string{"n-embd", "0"}},
		{"layers 0", config(func(c *Config) { c.Layers = 0 }), []string{"n-layer", "0"}},
		{"context 0", config(func(c *Config) { c.Context = 0 }), []string{"block-size", "0"}},
		{"inner -1", config(func(c *Config) { c.Inner = -1 }), []string{"n-inner", "-1"}},
		{"vocabulary 1", config(func(c *Config) { c.Vocab = 1 }), []string{"2 tokens", "1"}},
		{"dropout 1", config(func(c *Config) { c.Dropout = 1 }), []string{"dropout", "1"}},
		{"dropout NaN", config(func(c *Config) { c.Dropout = math.NaN() }), []string{"dropout", "NaN"}},
		{"epsilon -1", config(func(c *Config) { c.Epsilon = -1 }), []string{"epsilon", "-1"}},
		{"activation", config(func(c *Config) { c.Activation = "swish" }), []string{"swish", "gelu_tanh"}},
		{"init", config(func(c *Config) { c.Init = "xavier" }), []string{"xavier", "fan_in"}},
		{"type", badType, []string{"int", "float32"}},
		{"window", build(1, 10), []string{"10 tokens", "context of 9"}},
		{"batch 0", build(0, 3), []string{"0 windows"}},
	} {
		for _, w := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), w) {
				t.Errorf("%s: error %v, want it to say %q", c.name, c.err, w)
			}
		}
	}
}

// GPT-2 small has 124,439,808 parameters, 123,653,376 of them not positions (Radford et al. 2019; the count
// of Hugging Face's checkpoint).
func TestSizes(t *testing.T) {
	c := Config{Layers: 12, Heads: 12, Width: 768, Context: 1024, Vocab: 50257}
	total, n, err := c.ParameterCount()
	if err != nil || total != 124_439_808 || n != 123_653_376 {
		t.Errorf("GPT-2 small: %d parameters, %d without positions, %v; want 124439808, 123653376", total, n, err)
	}
	if flops := must(c.FLOPsPerToken()); flops != 798_543_360 { // 6*123653376 + 6*12*768*1024
		t.Errorf("GPT-2 small: %d operations per token, want 798543360", flops)
	}
	c.Untied = true
	if total, _, _ := c.ParameterCount(); total != 124_439_808+50257*768 {
		t.Errorf("untied: %d parameters", total)
	}
	if _, _, err := (Config{}).ParameterCount(); err == nil {
		t.Error("an empty configuration has a size")
	}

	m := must(NewGPT(small, tensor.Float32))
	mem := must(m.TrainMemory(2, 9, GraphOptions{}))
	weights := int64(4 * m.Params().Len())
	if mem.Weights != weights || mem.Gradients != weights || mem.Moments != 2*weights || mem.Total() != 4*weights+mem.Step {
		t.Errorf("memory %+v, want arenas of %d bytes", mem, weights)
	}
	// The step keeps at least what the backward pass reads of each block, the fused projection and the two
	// feed-forward activations, and grows with the batch by about its factor.
	least := int64(4 * 2 * 9 * small.Layers * (3*12 + 2*48))
	more := must(m.TrainMemory(8, 9, GraphOptions{}))
	if mem.Step < least || more.Step < 3*mem.Step || more.Step > 5*mem.Step {
		t.Errorf("a step of 2 windows takes %d bytes, of 8 %d; want at least %d, and about 4 times", mem.Step, more.Step, least)
	}
}
