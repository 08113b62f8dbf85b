package graph_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/composed"
	"tinylm/graph/gradcheck"
)

// The lesson behind the project, step by step: what it builds from single operators and states about them.

// TestLessonSoftmax: [1000, 1001, 1002] gives about [0.090, 0.245, 0.665] and no NaN; rows sum to 1.
func TestLessonSoftmax(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{1000, 1001, 1002}, []float64{0.0900305732, 0.2447284711, 0.6652409558}},
		{[]float64{-1000, -1001, -1002}, []float64{0.6652409558, 0.2447284711, 0.0900305732}},
		{[]float64{89, 0, -inf}, []float64{1, 0, 0}},
		{[]float64{0, -inf, 0}, []float64{0.5, 0, 0.5}},
		{[]float64{-431, 279, 427}, []float64{0, 0, 1}},
		{[]float64{-inf, -inf, -inf}, []float64{0, 0, 0}},
	} {
		for _, f := range forms {
			for _, typ := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
				x := leaf(gorgonia.NewGraph(), "x", typ, []int{1, 3}, c.in)
				y := must(t)(f.softmax(x))
				loss := must(t)(weighted(y, []float64{1, 2, 3}))
				grads, err := gorgonia.Grad(loss, x)
				if err != nil {
					t.Fatal(err)
				}
				got := run(t, gradcheck.Machine, y, grads[0])
				wantClose(t, fmt.Sprintf("%s softmax of %v in %v", f.name, c.in, typ), got[0], c.want, 1e-7)
				for _, d := range got[1] {
					if math.IsNaN(d) || math.IsInf(d, 0) {
						t.Errorf("%s softmax of %v in %v has the gradient %v", f.name, c.in, typ, got[1])
						break
					}
				}
			}
		}
	}
}

// TestLessonShapes: the shapes that the lesson checks at each step.
func TestLessonShapes(t *testing.T) {
	g := gorgonia.NewGraph()
	in := func(name string, shape ...int) *node {
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name))
	}
	want := func(what string, n *node, shape ...int) {
		t.Helper()
		if fmt.Sprint([]int(n.Shape())) != fmt.Sprint(shape) {
			t.Errorf("%s has shape %v, want %v", what, n.Shape(), shape)
		}
	}
	q, k, v := in("q", 2, 4, 6, 16), in("k", 2, 4, 6, 16), in("v", 2, 4, 6, 16)
	y, weights, err := composed.ScaledDotProductAttention(q, k, v, graph.AttentionConfig{})
	if err != nil {
		t.Fatal(err)
	}
	want("output of attention", y, 2, 4, 6, 16)
	want("weights of attention", weights, 2, 4, 6, 6)
	y, weights, err = composed.ScaledDotProductAttention(q, in("longer k", 2, 4, 9, 16), in("wider v", 2, 4, 9, 24), graph.AttentionConfig{})
	if err != nil {
		t.Fatal(err)
	}
	want("output for other keys and values", y, 2, 4, 6, 24)
	want("weights for other keys", weights, 2, 4, 6, 9)

	n := must(t)
	x := in("x", 2, 16, 512)
	qkv := n(graph.Linear(x, in("wqkv", 512, 3*512), nil))
	want("fused projection", qkv, 2, 16, 3*512)
	y = n(graph.Attention(qkv, graph.Causal(8)))
	want("fused attention", y, 2, 16, 512)
	y = n(graph.GELU(n(graph.Linear(y, in("w1", 512, 2048), in("b1", 2048)))))
	want("hidden layer", y, 2, 16, 2048)
	want("feed-forward", n(graph.Linear(y, in("w2", 2048, 512), in("b2", 512))), 2, 16, 512)
}

// TestLessonCausalMask: row i sees 0..i. Structural, as a bool mask and as an additive one give the same; a
// (1, 1, n, n) mask broadcasts like an (n, n) one.
func TestLessonCausalMask(t *testing.T) {
	const n = 5
	data := func(hidden float64) []float64 {
		m := make([]float64, n*n)
		for i := range m {
			if i%n > i/n {
				m[i] = hidden
			}
		}
		return m
	}
	for _, f := range forms {
		attend := func(c func(g *gorgonia.ExprGraph) graph.AttentionConfig) []float64 {
			g := gorgonia.NewGraph()
			cfg := c(g)
			cfg.Heads = 2
			qkv := leaf(g, "qkv", tensor.Float64, []int{2, n, 12}, random(3, 2*n*12))
			return run(t, gradcheck.Machine, must(t)(f.attention(qkv, cfg)))[0]
		}
		want := attend(func(*gorgonia.ExprGraph) graph.AttentionConfig { return graph.AttentionConfig{Causal: true} })
		for name, c := range map[string]func(g *gorgonia.ExprGraph) graph.AttentionConfig{
			"bool (n, n)": func(g *gorgonia.ExprGraph) graph.AttentionConfig {
				return graph.AttentionConfig{Mask: leaf(g, "m", tensor.Bool, []int{n, n}, data(1))}
			},
			"bool (1, 1, n, n)": func(g *gorgonia.ExprGraph) graph.AttentionConfig {
				return graph.AttentionConfig{Mask: leaf(g, "m", tensor.Bool, []int{1, 1, n, n}, data(1))}
			},
			"additive (n, n)": func(g *gorgonia.ExprGraph) graph.AttentionConfig {
				return graph.AttentionConfig{Mask: leaf(g, "m", tensor.Float64, []int{n, n}, data(math.Inf(-1)))}
			},
		} {
			wantClose(t, f.name+" with the mask "+name, attend(c), want, 1e-14)
		}
	}
}

// TestLessonWalkThrough: three tokens, two heads of size 2, identity projections: scores and weights of
// head 0, and both heads joined, as PyTorch computes them.
func TestLessonWalkThrough(t *testing.T) {
	refs := references(t)
	r := refs[len(refs)-1]
	if !strings.HasPrefix(r.Name, "walkthrough") {
		t.Fatalf("the last case is %q", r.Name)
	}
	n := must(t)
	x := leaf(gorgonia.NewGraph(), "x", tensor.Float64, r.Inputs["x"].Shape, r.Inputs["x"].Data)
	head0 := n(graph.SliceLast(x, 0, 2))
	scores := n(gorgonia.HadamardProd(n(graph.MatMul(head0, head0, false, true)), gorgonia.NewConstant(1/math.Sqrt2)))
	one := n(graph.Reshape(x, 1, 3, 4))
	y, weights, err := composed.Attention(n(gorgonia.Concat(2, one, one, one)), graph.AttentionConfig{Heads: 2})
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, gradcheck.Machine, scores, weights, y)
	wantClose(t, "scores of head 0", got[0], r.Head0Scores.Data, 1e-12)
	wantClose(t, "weights of head 0", got[1][:9], r.Head0Weights.Data, 1e-12)
	wantClose(t, "both heads", got[2], r.Output.Data, 1e-12)
}
