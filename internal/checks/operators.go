package checks

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/composed"
)

type (
	node      = gorgonia.Node
	unary     = func(x *node) (*node, error)
	binary    = func(x, y *node) (*node, error)
	ternary   = func(x, y, z *node) (*node, error)
	normed    = func(x, weight, bias *node, eps float64) (*node, error)
	attending = func(qkv *node, c graph.AttentionConfig) (*node, error)
	crossing  = func(q, k, v *node, c graph.AttentionConfig) (*node, error)
	dropping  = func(x *node, c graph.DropoutConfig) (*node, error)
)

// operators lists every operator. Shapes are odd on purpose.
func operators() []operator {
	row, rows := [][]int{{3, 7}}, [][]int{{2, 3, 6}, {6}, {6}}
	scores, packed := [][]int{{2, 3, 5}}, [][]int{{2, 4, 18}}
	apart := [][]int{{2, 3, 3, 4}, {2, 3, 5, 4}, {2, 3, 5, 2}} // q (B,H,Tq,D), k (B,H,Tk,D), v (B,H,Tk,Dv)
	return []operator{
		{"linear", [][]int{{2, 3, 5}, {5, 4}, {4}}, three(graph.Linear), three(composed.Linear)},
		{"linear, no bias", [][]int{{3, 5}, {5, 4}}, noBias(graph.Linear), noBias(composed.Linear)},
		{"linear transposed", [][]int{{2, 3, 5}, {4, 5}}, two(graph.LinearTransposed), two(composed.LinearTransposed)},
		{"add", [][]int{{2, 3, 4}, {2, 3, 4}}, two(graph.Add), two(composed.Add)},
		{"add to a batch", [][]int{{2, 3, 4}, {3, 4}}, two(graph.Add), two(composed.Add)},
		{"embedding", [][]int{{5, 3}}, withIDs(graph.Embedding), withIDs(composed.Embedding)},
		{"layer norm", rows, norm(graph.LayerNorm), norm(composed.LayerNorm)},
		{"layer norm, std", rows, norm(graph.LayerNormStd), norm(composed.LayerNormStd)},
		{"gelu", row, one(graph.GELU), one(composed.GELU)},
		{"gelu, exact", row, one(graph.GELUExact), one(composed.GELUExact)},
		{"relu", row, one(graph.ReLU), one(composed.ReLU)},
		{"softmax", row, one(graph.Softmax), one(composed.Softmax)},
		{"log softmax", row, one(graph.LogSoftmax), one(composed.LogSoftmax)},
		{"dropout", row, dropout(graph.Dropout), dropout(composed.Dropout)},
		{"attention, causal", packed, attention(graph.Attention, true, nil), attention(attendComposed, true, nil)},
		{"attention, hidden keys", packed, attention(graph.Attention, false, hidden), attention(attendComposed, false, hidden)},
		{"attention, added mask", packed, attention(graph.Attention, true, added), attention(attendComposed, true, added)},
		{"cross-attention", apart, cross(graph.ScaledDotProductAttention), cross(crossComposed)},
		{"cross entropy", scores, withTargets(graph.CrossEntropy), withTargets(composed.CrossEntropy)},
		{"cross entropy, sum", scores, withTargets(sumOf(graph.CrossEntropySum)), withTargets(sumOf(composed.CrossEntropySum))},
		{"matrix product", [][]int{{2, 3, 5}, {2, 4, 5}}, two(func(a, b *node) (*node, error) { return graph.MatMul(a, b, false, true) }), nil},
		{"softmax of an axis", [][]int{{3, 4, 2}}, one(func(x *node) (*node, error) { return graph.SoftmaxAxis(x, 1) }), nil},
		{"reshape", [][]int{{2, 3, 4}}, one(func(x *node) (*node, error) { return graph.Reshape(x, 6, 4) }), nil},
		{"transpose", [][]int{{2, 3, 4}}, one(func(x *node) (*node, error) { return graph.Transpose(x, 2, 0, 1) }), nil},
		{"expand", [][]int{{2, 1, 4}}, one(func(x *node) (*node, error) { return graph.Expand(x, 2, 3, 4) }), nil},
		{"reduce", [][]int{{2, 3, 4}}, one(func(x *node) (*node, error) { return graph.Reduce(x, 1, 3, 1) }), nil},
		{"slice", [][]int{{3, 7}}, one(func(x *node) (*node, error) { return graph.SliceLast(x, 2, 5) }), nil},
		{"split", [][]int{{2, 6}}, one(split), nil},
		{"fill future", [][]int{{2, 3, 4}}, one(func(x *node) (*node, error) { return graph.FillFuture(x, -2) }), nil},
		{"fill where", [][]int{{2, 3, 4}}, one(fillWhere), nil},
	}
}

func one(f unary) build { return func(x gorgonia.Nodes) (*node, error) { return f(x[0]) } }

func two(f binary) build { return func(x gorgonia.Nodes) (*node, error) { return f(x[0], x[1]) } }

func three(f ternary) build {
	return func(x gorgonia.Nodes) (*node, error) { return f(x[0], x[1], x[2]) }
}

func noBias(f ternary) build {
	return func(x gorgonia.Nodes) (*node, error) { return f(x[0], x[1], nil) }
}

func norm(f normed) build {
	return func(x gorgonia.Nodes) (*node, error) { return f(x[0], x[1], x[2], 1e-5) }
}

// withIDs reads rows of a table, some more than once.
func withIDs(f binary) build {
	return func(x gorgonia.Nodes) (*node, error) {
		return f(x[0], leaf(x[0].Graph(), "ids", tensor.Shape{2, 3}, []int32{4, 1, 4, 0, 1, 1}))
	}
}

// withTargets leaves one of six targets out.
func withTargets(f binary) build {
	return func(x gorgonia.Nodes) (*node, error) {
		return f(x[0], leaf(x[0].Graph(), "targets", tensor.Shape{2, 3}, []int32{4, 1, graph.IgnoreIndex, 0, 1, 2}))
	}
}

func sumOf(f func(logits, targets *node) (loss, count *node, err error)) binary {
	return func(logits, targets *node) (*node, error) {
		loss, _, err := f(logits, targets)
		return loss, err
	}
}

// dropout has a fixed seed and step, so that the differences see one function.
func dropout(f dropping) build {
	return func(x gorgonia.Nodes) (*node, error) {
		rng := graph.NewRNG(x[0].Graph())
		err := gorgonia.Let(rng, tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{7, 3, 0})))
		if err != nil {
			return nil, err
		}
		return f(x[0], graph.DropoutConfig{P: 0.3, RNG: rng, Site: 1})
	}
}

// attention has 2 heads of width 3 over 4 positions.
func attention(f attending, causal bool, mask func(g *gorgonia.ExprGraph) *node) build {
	return func(x gorgonia.Nodes) (*node, error) {
		c := graph.AttentionConfig{Heads: 2, Causal: causal}
		if mask != nil {
			c.Mask = mask(x[0].Graph())
		}
		return f(x[0], c)
	}
}

func attendComposed(qkv *node, c graph.AttentionConfig) (*node, error) {
	y, _, err := composed.Attention(qkv, c)
	return y, err
}

// hidden is a bool mask (4, 4) with one row wholly hidden.
func hidden(g *gorgonia.ExprGraph) *node {
	m := make([]bool, 16)
	for i := range 4 {
		m[i], m[12+i] = i == 2, true
	}
	return leaf(g, "mask", tensor.Shape{4, 4}, m)
}

// added is a mask (4, 4) of numbers that are added to the scores.
func added(g *gorgonia.ExprGraph) *node {
	return leaf(g, "mask", tensor.Shape{4, 4}, random(5, tensor.Shape{4, 4}))
}

func cross(f crossing) build {
	return func(x gorgonia.Nodes) (*node, error) { return f(x[0], x[1], x[2], graph.AttentionConfig{}) }
}

func crossComposed(q, k, v *node, c graph.AttentionConfig) (*node, error) {
	y, _, err := composed.ScaledDotProductAttention(q, k, v, c)
	return y, err
}

// split multiplies the first and the last of three parts; the middle one has no gradient.
func split(x *node) (*node, error) {
	parts, err := graph.SplitLast(x, 3)
	if err != nil {
		return nil, err
	}
	return gorgonia.HadamardProd(parts[0], parts[2])
}

func fillWhere(x *node) (*node, error) {
	return graph.FillWhere(x, leaf(x.Graph(), "mask", tensor.Shape{3, 1}, []bool{false, true, false}), 5)
}
