package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/composed"
	"tinylm/graph/gradcheck"
)

type node = gorgonia.Node

// form is one of the two forms of the operators.
type form struct {
	name                      string
	linear                    func(x, w, b *node) (*node, error)
	linearTransposed          func(x, w *node) (*node, error)
	add                       func(x, y *node) (*node, error)
	embedding                 func(table, ids *node) (*node, error)
	layerNorm, layerNormStd   func(x, weight, bias *node, eps float64) (*node, error)
	gelu, geluExact, relu     func(x *node) (*node, error)
	softmax, logSoftmax       func(x *node) (*node, error)
	attention                 func(qkv *node, c graph.AttentionConfig) (*node, error)
	scaledDotProductAttention func(q, k, v *node, c graph.AttentionConfig) (*node, error)
	dropout                   func(x *node, c graph.DropoutConfig) (*node, error)
	crossEntropy              func(logits, targets *node) (*node, error)
	crossEntropySum           func(logits, targets *node) (loss, count *node, err error)
}

var fusedForm = form{
	"fused", graph.Linear, graph.LinearTransposed, graph.Add, graph.Embedding,
	graph.LayerNorm, graph.LayerNormStd, graph.GELU, graph.GELUExact, graph.ReLU,
	graph.Softmax, graph.LogSoftmax, graph.Attention, graph.ScaledDotProductAttention,
	graph.Dropout, graph.CrossEntropy, graph.CrossEntropySum,
}

var composedForm = form{
	"composed", composed.Linear, composed.LinearTransposed, composed.Add, composed.Embedding,
	composed.LayerNorm, composed.LayerNormStd, composed.GELU, composed.GELUExact, composed.ReLU,
	composed.Softmax, composed.LogSoftmax,
	func(qkv *node, c graph.AttentionConfig) (*node, error) {
		y, _, err := composed.Attention(qkv, c)
		return y, err
	},
	func(q, k, v *node, c graph.AttentionConfig) (*node, error) {
		y, _, err := composed.ScaledDotProductAttention(q, k, v, c)
		return y, err
	},
	composed.Dropout, composed.CrossEntropy, composed.CrossEntropySum,
}

var forms = []form{fusedForm, composedForm}

// zeros returns a function that adds inputs of zeros to g, each of a name of its own.
func zeros(g *gorgonia.ExprGraph) func(typ tensor.Dtype, shape ...int) *node {
	made := 0
	return func(typ tensor.Dtype, shape ...int) *node {
		made++
		return leaf(g, fmt.Sprint("input", made), typ, shape, make([]float64, size(shape)))
	}
}

// leaf adds an input with values to a graph; data holds float64 whatever the type.
func leaf(g *gorgonia.ExprGraph, name string, t tensor.Dtype, shape []int, data []float64) *node {
	if len(shape) == 0 {
		return gorgonia.NewScalar(g, t, gorgonia.WithName(name), gorgonia.WithValue(backing(t, data, true)))
	}
	v := tensor.New(tensor.WithShape(slices.Clone(shape)...), tensor.WithBacking(backing(t, data, false)))
	return gorgonia.NewTensor(g, t, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name), gorgonia.WithValue(v))
}

// backing converts data to a slice of element type t, or to its only element.
func backing(t tensor.Dtype, data []float64, scalar bool) any {
	switch t {
	case tensor.Float64:
		return convert[float64](data, scalar)
	case tensor.Float32:
		return convert[float32](data, scalar)
	case tensor.Int32:
		return convert[int32](data, scalar)
	case tensor.Int64:
		return convert[int64](data, scalar)
	case tensor.Int:
		return convert[int](data, scalar)
	}
	b := make([]bool, len(data))
	for i, x := range data {
		b[i] = x != 0
	}
	return b
}

func convert[T float64 | float32 | int32 | int64 | int](data []float64, scalar bool) any {
	out := make([]T, len(data))
	for i, x := range data {
		out[i] = T(x)
	}
	if scalar {
		return out[0]
	}
	return out
}

// random returns n normally distributed numbers, the same for the same seed.
func random(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// floats reads a value as float64.
func floats(t *testing.T, v gorgonia.Value) []float64 {
	t.Helper()
	switch x := v.Data().(type) {
	case []float64:
		return slices.Clone(x)
	case float64:
		return []float64{x}
	case []float32:
		out := make([]float64, len(x))
		for i := range x {
			out[i] = float64(x[i])
		}
		return out
	case float32:
		return []float64{float64(x)}
	}
	t.Fatalf("value of type %T", v.Data())
	return nil
}

// run computes the nodes with an engine.
func run(t *testing.T, engine gradcheck.Engine, nodes ...*node) [][]float64 {
	t.Helper()
	launch, err := engine(nodes[0].Graph(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	vs, err := launch()
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, len(vs))
	for i, v := range vs {
		if v == nil {
			t.Fatalf("%v has no value after the run", nodes[i])
		}
		if s := v.Shape(); !s.Eq(nodes[i].Shape()) {
			t.Errorf("%v has a value of shape %v, the node says %v", nodes[i], s, nodes[i].Shape())
		}
		out[i] = floats(t, v)
	}
	return out
}

// weighted is the sum of out times fixed random numbers, so that its gradient with respect to out is those.
func weighted(out *node, upstream []float64) (*node, error) {
	u := leaf(out.Graph(), "upstream", out.Dtype(), out.Shape(), upstream)
	p, err := gorgonia.HadamardProd(out, u)
	if err != nil {
		return nil, err
	}
	return gorgonia.Sum(p)
}

// wantClose fails unless max|got-want| / max|want| is at most limit; see miss.
func wantClose(t *testing.T, what string, got, want []float64, limit float64) {
	t.Helper()
	if m := miss(got, want, limit); m != "" {
		t.Errorf("%s: %s", what, m)
	}
}

// miss tells what is wrong when max|got-want| / max|want| is above limit. Where want is zero but for
// rounding (the gradient of a constant row's weight), max|got-want| must be at most limit itself. An
// infinite value must be met exactly, and NaN is never wanted.
func miss(got, want []float64, limit float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d values, want %d", len(got), len(want))
	}
	worst, at, scale := 0.0, 0, 0.0
	for i, w := range want {
		if math.IsInf(w, 0) && got[i] == w {
			continue
		}
		e := math.Abs(got[i] - w)
		if math.IsNaN(e) || math.IsInf(e, 0) {
			return fmt.Sprintf("value %d is %v, want %v", i, got[i], w)
		}
		if e > worst {
			worst, at = e, i
		}
		scale = max(scale, math.Abs(w))
	}
	if scale < 1e-9 {
		scale = 1
	}
	if worst > limit*scale {
		return fmt.Sprintf("value %d is %.12g, want %.12g: error %.2g of the largest, at most %.0g allowed",
			at, got[at], want[at], worst/scale, limit)
	}
	return ""
}

// TestMiss tries the comparison that other tests rest on.
func TestMiss(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		got, want []float64
		close     bool
	}{
		{[]float64{1, 2}, []float64{1, 2}, true},
		{[]float64{1.01, 2}, []float64{1, 2}, true},
		{[]float64{1.03, 2}, []float64{1, 2}, false},
		{[]float64{0.009}, []float64{1e-12}, true},
		{[]float64{0.02}, []float64{1e-12}, false},
		{[]float64{1}, []float64{1, 2}, false},
		{[]float64{-inf, 2}, []float64{-inf, 2}, true},
		{[]float64{-inf, 3}, []float64{-inf, 2}, false}, // the infinite value is no scale for the others
		{[]float64{inf, 2}, []float64{-inf, 2}, false},
		{[]float64{5, 2}, []float64{inf, 2}, false},
		{[]float64{5, 2}, []float64{-inf, 2}, false},
		{[]float64{inf, 2}, []float64{1, 2}, false},
		{[]float64{nan, 2}, []float64{1, 2}, false},
		{[]float64{1, 2}, []float64{nan, 2}, false},
		{[]float64{nan, 2}, []float64{nan, 2}, false},
	} {
		if m := miss(c.got, c.want, 0.01); (m == "") != c.close {
			t.Errorf("%v against %v: %q", c.got, c.want, m)
		}
	}
}

func must(t *testing.T) func(n *node, err error) *node {
	return func(n *node, err error) *node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// rng adds the random state (7, 3, 1) for dropout.
func rng(g *gorgonia.ExprGraph) *node {
	n := graph.NewRNG(g)
	if err := gorgonia.Let(n, tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{7, 3, 1}))); err != nil {
		panic(fmt.Sprint("binding the random state: ", err))
	}
	return n
}
