package graph_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/gradcheck"
)

// reference is a case of testdata/ops.json, computed by PyTorch in float64.
type reference struct {
	Name                 string
	Inputs, Fixed, Grads map[string]array
	Output, Upstream     array
	Head0Scores          array `json:"head0_scores"`
	Head0Weights         array `json:"head0_weights"`
	Attrs                struct{ Eps float64 }
}

type array struct {
	Shape []int
	Data  []float64
}

func references(t testing.TB) []reference {
	t.Helper()
	raw, err := os.ReadFile("testdata/ops.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []reference
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReference compares values and gradients of every operator, both forms, with PyTorch's.
func TestReference(t *testing.T) {
	const cases = 24
	refs := references(t)
	if len(refs) != cases {
		t.Errorf("testdata/ops.json holds %d cases, this test knows %d", len(refs), cases)
	}
	for _, r := range refs {
		for _, f := range forms {
			t.Run(r.Name+"/"+f.name+"/float64", func(t *testing.T) { r.check(t, f, tensor.Float64, 1e-9) })
			t.Run(r.Name+"/"+f.name+"/float32", func(t *testing.T) { r.check(t, f, tensor.Float32, 2e-5) })
		}
	}
}

func (r reference) check(t *testing.T, f form, typ tensor.Dtype, limit float64) {
	g := gorgonia.NewGraph()
	in := map[string]*node{}
	for name, a := range r.Inputs {
		in[name] = leaf(g, name, typ, a.Shape, a.Data)
	}
	for name, a := range r.Fixed {
		kind := tensor.Int32
		if name == "hidden" {
			kind = tensor.Bool
		}
		in[name] = leaf(g, name, kind, a.Shape, a.Data)
	}
	out := must(t)(r.build(t, f, in))
	nodes, names := []*node{out}, []string{"output"}
	want := [][]float64{r.Output.Data}
	if r.Grads != nil {
		loss := must(t)(weighted(out, r.Upstream.Data))
		var wrt []*node
		for name, a := range r.Grads {
			wrt, want, names = append(wrt, in[name]), append(want, a.Data), append(names, "gradient of "+name)
		}
		grads, err := gorgonia.Grad(loss, wrt...)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, grads...)
	}
	for i, got := range run(t, gradcheck.Machine, nodes...) {
		wantClose(t, names[i], got, want[i], limit)
	}
}

// build makes the operator that the case's name says. Blocks are here as operators put together by hand.
func (r reference) build(t *testing.T, f form, in map[string]*node) (*node, error) {
	switch x := in["x"]; {
	case strings.HasPrefix(r.Name, "softmax"):
		return f.softmax(x)
	case r.Name == "log_softmax":
		return f.logSoftmax(x)
	case r.Name == "layer_norm_std_plus_eps":
		return f.layerNormStd(x, in["weight"], in["bias"], r.Attrs.Eps)
	case strings.HasPrefix(r.Name, "layer_norm"):
		return f.layerNorm(x, in["weight"], in["bias"], r.Attrs.Eps)
	case r.Name == "gelu_tanh":
		return f.gelu(x)
	case r.Name == "gelu_erf":
		return f.geluExact(x)
	case r.Name == "linear":
		return f.linear(x, in["weight"], in["bias"])
	case r.Name == "embedding_repeated_ids":
		return f.embedding(in["table"], in["ids"])
	case strings.HasPrefix(r.Name, "cross_entropy"):
		return f.crossEntropy(in["logits"], in["targets"])
	case strings.HasPrefix(r.Name, "attention"):
		c := graph.AttentionConfig{Causal: strings.Contains(r.Name, "causal"), Mask: in["hidden"]}
		return f.scaledDotProductAttention(in["q"], in["k"], in["v"], c)
	case strings.HasPrefix(r.Name, "multi_head_attention"):
		return multiHead(t, f, x, in["memory"], in), nil
	case strings.HasPrefix(r.Name, "transformer_block"):
		act := f.relu
		if strings.HasSuffix(r.Name, "gelu_tanh") {
			act = f.gelu
		}
		return block(t, f, act, in), nil
	case strings.HasPrefix(r.Name, "walkthrough"):
		n := must(t)
		qkv := n(gorgonia.Concat(1, x, x, x)) // identity projections
		y := n(f.attention(n(graph.Reshape(qkv, 1, 3, 12)), graph.AttentionConfig{Heads: 2}))
		return graph.Reshape(y, 3, 4)
	}
	t.Fatalf("no operator for the case %q", r.Name)
	return nil, nil
}

// multiHead is the lesson's attention of two heads with four projections: causal self-attention on x, or
// without a mask on memory.
func multiHead(t *testing.T, f form, x, memory *node, w map[string]*node) *node {
	n := must(t)
	c := graph.AttentionConfig{Causal: memory == nil}
	if memory == nil {
		memory = x
	}
	heads := func(x, w *node) *node { // (B, T, C) to (B, 2, T, C/2)
		y := n(f.linear(x, w, nil))
		y = n(graph.Reshape(y, y.Shape()[0], y.Shape()[1], 2, y.Shape()[2]/2))
		return n(graph.Transpose(y, 0, 2, 1, 3))
	}
	y := n(f.scaledDotProductAttention(heads(x, w["wq"]), heads(memory, w["wk"]), heads(memory, w["wv"]), c))
	y = n(graph.Reshape(n(graph.Transpose(y, 0, 2, 1, 3)), x.Shape()...))
	return n(f.linear(y, w["wo"], nil))
}

// block is x + attention(norm1(x)), then x + ffn(norm2(x)).
func block(t *testing.T, f form, act func(*node) (*node, error), in map[string]*node) *node {
	n := must(t)
	x := in["x"]
	y := multiHead(t, f, n(f.layerNorm(x, in["g1"], in["c1"], 1e-5)), nil, in)
	x = n(f.add(x, y))
	y = n(f.linear(n(f.layerNorm(x, in["g2"], in["c2"], 1e-5)), in["w1"], in["b1"]))
	y = n(f.linear(n(act(y)), in["w2"], in["b2"]))
	return n(f.add(x, y))
}
