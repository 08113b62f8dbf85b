package layers

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The values under testdata were computed by PyTorch in float64.

// gpt2 is the reference model: a Hugging Face configuration, its weights, and what they give.
type gpt2 struct {
	config   Config
	weights  map[string]array // by our names
	grads    map[string]array // of the mean loss
	expected struct {
		Logits array `json:"logits"`
		Steps  []struct {
			IDs     [][]int32 `json:"ids"`
			Targets [][]int32 `json:"targets"`
			Loss    float64   `json:"loss"`
		} `json:"steps"`
	}
}

func readGPT2(t *testing.T) *gpt2 {
	t.Helper()
	var c struct {
		Layers  int     `json:"n_layer"`
		Heads   int     `json:"n_head"`
		Width   int     `json:"n_embd"`
		Context int     `json:"n_positions"`
		Vocab   int     `json:"vocab_size"`
		Epsilon float64 `json:"layer_norm_epsilon"`
	}
	readJSON(t, "testdata/gpt2/config.json", &c)
	r := &gpt2{config: Config{Layers: c.Layers, Heads: c.Heads, Width: c.Width, Context: c.Context, Vocab: c.Vocab, Epsilon: c.Epsilon}}
	r.weights = prefixed(readSafetensors(t, "testdata/gpt2/model.safetensors"))
	r.grads = prefixed(readSafetensors(t, "testdata/gpt2/grads.safetensors"))
	readJSON(t, "testdata/gpt2/expected.json", &r.expected)
	return r
}

// prefixed adds the prefix that the published files lack.
func prefixed(m map[string]array) map[string]array {
	all := map[string]array{}
	for name, a := range m {
		all["transformer."+name] = a
	}
	return all
}

// model returns a GPT with the reference's weights.
func (r *gpt2) model(t *testing.T, c Config, dt tensor.Dtype) *GPT {
	t.Helper()
	m, err := NewGPT(c, dt)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range r.weights {
		if err := m.Params().Load(name, w.Shape, w.f32()); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// fill writes the reference's first batch into the inputs of a graph.
func (r *gpt2) fill(g *Graph) {
	copy(g.IDs.Data, slices.Concat(r.expected.Steps[0].IDs...))
	copy(g.Targets.Data, slices.Concat(r.expected.Steps[0].Targets...))
}

func TestGPT2Reference(t *testing.T) {
	r := readGPT2(t)
	b, n := len(r.expected.Steps[0].IDs), len(r.expected.Steps[0].IDs[0])
	eachForm(t, func(t *testing.T, dt tensor.Dtype, composed bool) {
		m := r.model(t, r.config, dt)
		g, err := m.TrainGraph(b, n, GraphOptions{Composed: composed})
		if err != nil {
			t.Fatal(err)
		}
		r.fill(g)
		run(t, g.Graph, append(slices.Clone(g.Grads), g.Logits, g.Loss, g.Count)...)

		count := floats(g.Count)[0]
		if count != float64(b*n) {
			t.Errorf("count %v, want %d", count, b*n)
		}
		near(t, "logits", floats(g.Logits), r.expected.Logits.Data, tolerance(dt))
		near(t, "loss", []float64{floats(g.Loss)[0] / count}, []float64{r.expected.Steps[0].Loss}, tolerance(dt))
		for i, w := range m.Params().List() {
			grad := floats(g.Grads[i])
			for j := range grad {
				grad[j] /= count
			}
			near(t, "gradient of "+w.Name, grad, r.grads[w.Name].Data, tolerance(dt))
		}
	})
}

func TestGPT2Names(t *testing.T) {
	r := readGPT2(t)
	m := must(NewGPT(r.config, tensor.Float32))
	for _, w := range m.Params().List() {
		if ref, ok := r.weights[w.Name]; !ok || !slices.Equal(ref.Shape, w.Shape) {
			t.Errorf("%s %v is %v in Hugging Face's file", w.Name, w.Shape, ref.Shape)
		}
	}
	if got := len(m.Params().List()); got != len(r.weights) {
		t.Errorf("%d parameters, the file has %d", got, len(r.weights))
	}
}

// blockCase is a reference case of a layer; the names of its inputs are in weightNames.
type blockCase struct {
	Name     string           `json:"name"`
	Inputs   map[string]array `json:"inputs"`
	Output   array            `json:"output"`
	Upstream array            `json:"upstream"`
	Grads    map[string]array `json:"grads"`
}

func readBlocks(t *testing.T) map[string]blockCase {
	t.Helper()
	var all []blockCase
	readJSON(t, "testdata/blocks.json", &all)
	byName := map[string]blockCase{}
	for _, c := range all {
		byName[c.Name] = c
	}
	return byName
}

// weightNames maps our parameters to the names in the reference; several are joined by columns.
var (
	crossNames = map[string]string{"attn.query.weight": "wq", "attn.key.weight": "wk", "attn.value.weight": "wv", "attn.c_proj.weight": "wo"}
	selfNames  = map[string]string{"attn.c_attn.weight": "wq wk wv", "attn.c_proj.weight": "wo"}
	blockNames = map[string]string{
		"b.attn.c_attn.weight": "wq wk wv", "b.attn.c_proj.weight": "wo",
		"b.mlp.c_fc.weight": "w1", "b.mlp.c_fc.bias": "b1", "b.mlp.c_proj.weight": "w2", "b.mlp.c_proj.bias": "b2",
		"b.ln_1.weight": "g1", "b.ln_1.bias": "c1", "b.ln_2.weight": "g2", "b.ln_2.bias": "c2",
	}
)

// joined returns the array that several space-separated names stand for.
func joined(from map[string]array, names string) array {
	var ms []array
	for _, n := range strings.Fields(names) {
		ms = append(ms, from[n])
	}
	if len(ms) == 1 {
		return ms[0]
	}
	return columns(ms...)
}

// check builds a layer on the case's inputs and compares its result and all gradients.
func (c blockCase) check(t *testing.T, p *Parameters, composed bool, names map[string]string,
	forward func(s *Scope, in map[string]*gorgonia.Node) (*gorgonia.Node, error)) {
	t.Helper()
	dt := p.DType()
	for name, from := range names {
		w := joined(c.Inputs, from)
		if err := p.Load(name, w.Shape, w.f32()); err != nil {
			t.Fatal(err)
		}
		if dt == tensor.Float64 { // Load takes float32; the reference is exact
			copy(must(Slice[float64](p, name)), w.Data)
		}
	}
	g := gorgonia.NewGraph()
	s := NewScope(g, p)
	s.Composed = composed
	in := map[string]*gorgonia.Node{}
	want := []array{}
	wrt := gorgonia.Nodes{}
	for _, name := range []string{"x", "memory"} {
		if a, ok := c.Inputs[name]; ok {
			in[name] = a.input(g, name, dt)
			wrt, want = append(wrt, in[name]), append(want, c.Grads[name])
		}
	}
	y, err := forward(s, in)
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range names {
		wrt, want = append(wrt, must(s.Param(name))), append(want, joined(c.Grads, from))
	}
	grads, err := gorgonia.Backpropagate(gorgonia.Nodes{y}, gorgonia.Nodes{c.Upstream.input(g, "upstream", dt)}, wrt)
	if err != nil {
		t.Fatal(err)
	}
	run(t, g, append(slices.Clone(grads), y)...)
	near(t, "output", floats(y), c.Output.Data, tolerance(dt))
	for i, n := range wrt {
		near(t, "gradient of "+n.Name(), floats(grads[i]), want[i].Data, tolerance(dt))
	}
}

func TestAttentionReference(t *testing.T) {
	cases := readBlocks(t)
	cfg := Config{Width: 8, Heads: 2, NoBias: true}
	eachForm(t, func(t *testing.T, dt tensor.Dtype, composed bool) {
		t.Run("self, fused projection", func(t *testing.T) {
			p := must(NewParameters(dt))
			l := must(NewMultiHeadAttention(p, "attn", cfg))
			cases["multi_head_attention_causal"].check(t, p, composed, selfNames,
				func(s *Scope, in map[string]*gorgonia.Node) (*gorgonia.Node, error) {
					return l.Forward(s, in["x"], Mask{Causal: true})
				})
		})
		t.Run("self, separate projections", func(t *testing.T) {
			p := must(NewParameters(dt))
			l := must(NewCrossAttention(p, "attn", cfg))
			cases["multi_head_attention_causal"].check(t, p, composed, crossNames,
				func(s *Scope, in map[string]*gorgonia.Node) (*gorgonia.Node, error) {
					return l.Forward(s, in["x"], nil, nil, Mask{Causal: true})
				})
		})
		t.Run("cross", func(t *testing.T) {
			p := must(NewParameters(dt))
			l := must(NewCrossAttention(p, "attn", cfg))
			cases["multi_head_attention_cross"].check(t, p, composed, crossNames,
				func(s *Scope, in map[string]*gorgonia.Node) (*gorgonia.Node, error) {
					return l.Forward(s, in["x"], in["memory"], nil, Mask{})
				})
		})
	})
}

// The reference's attention has no biases, its feed-forward layer has; so the projections' biases stay zero.
func TestBlockReference(t *testing.T) {
	cases := readBlocks(t)
	for name, act := range map[string]Activation{
		"transformer_block_pre_ln_relu":      ReLU,
		"transformer_block_pre_ln_gelu_tanh": GELUTanh,
	} {
		t.Run(string(act), func(t *testing.T) {
			eachForm(t, func(t *testing.T, dt tensor.Dtype, composed bool) {
				p := must(NewParameters(dt))
				b := must(NewBlock(p, "b", Config{Width: 8, Heads: 2, Inner: 16, Activation: act}))
				cases[name].check(t, p, composed, blockNames,
					func(s *Scope, in map[string]*gorgonia.Node) (*gorgonia.Node, error) {
						return b.Forward(s, in["x"], Mask{Causal: true})
					})
			})
		})
	}
}
