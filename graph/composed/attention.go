package composed

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/internal/device"
	"tinylm/internal/node"
)

// Attention is multi-head self-attention on a fused projection: qkv (B, T, 3C), the queries of all heads,
// then the keys, then the values, C = Heads*D; output (B, T, C), the heads side by side, and weights
// (B, H, T, T) before dropout.
func Attention(qkv *gorgonia.Node, c graph.AttentionConfig) (output, weights *gorgonia.Node, err error) {
	e := &expr{name: "attention"}
	e.require(qkv.Dims() == 3 && c.Heads >= 1 && node.Last(qkv)%(3*c.Heads) == 0,
		"qkv %v with %d heads; want (B, T, 3C) with C divisible by the heads", qkv.Shape(), c.Heads)
	if e.err != nil {
		return e.results(nil, nil)
	}
	b, t, ch := qkv.Shape()[0], qkv.Shape()[1], node.Last(qkv)/3
	head := func(i int) *gorgonia.Node {
		x := e.slice(qkv, i*ch, (i+1)*ch)           // (B, T, C)
		x = e.reshape(x, b, t, c.Heads, ch/c.Heads) // (B, T, H, D)
		return e.transpose(x, 0, 2, 1, 3)           // (B, H, T, D)
	}
	y, weights := e.attention(head(0), head(1), head(2), c)
	y = e.reshape(e.transpose(y, 0, 2, 1, 3), b, t, ch) // (B, T, C)
	return e.results(y, weights)
}

// ScaledDotProductAttention is attention with the heads apart: q (B, H, Tq, D), k (B, H, Tk, D),
// v (B, H, Tk, Dv); output (B, H, Tq, Dv) and weights (B, H, Tq, Tk) before dropout.
func ScaledDotProductAttention(q, k, v *gorgonia.Node, c graph.AttentionConfig) (output, weights *gorgonia.Node, err error) {
	e := &expr{name: "attention"}
	e.require(q.Dims() == 4 && k.Dims() == 4 && v.Dims() == 4 &&
		slices.Equal(q.Shape()[:2], k.Shape()[:2]) && slices.Equal(k.Shape()[:3], v.Shape()[:3]) && node.Last(q) == node.Last(k),
		"q, k, v %v, %v, %v; want (B, H, Tq, D), (B, H, Tk, D), (B, H, Tk, Dv)", node.Dims(q), node.Dims(k), node.Dims(v))
	if e.err == nil {
		output, weights = e.attention(q, k, v, c)
	}
	return e.results(output, weights)
}

// attention is softmax(q·kᵀ/sqrt(D))·v (Vaswani et al. 2017, eq. 1).
func (e *expr) attention(q, k, v *gorgonia.Node, c graph.AttentionConfig) (output, weights *gorgonia.Node) {
	e.float(q, k, v)
	scores := e.times(e.matMul(q, k, false, true), 1/math.Sqrt(float64(node.Last(q)))) // (B, H, Tq, Tk)
	if c.Mask != nil {
		scores = e.mask(scores, c.Mask)
	}
	if c.Causal {
		scores = e.fillFuture(scores, math.Inf(-1))
	}
	weights = e.softmax(scores)                                              // (B, H, Tq, Tk)
	return e.matMul(e.dropout(weights, c.Dropout), v, false, false), weights // (B, H, Tq, Dv)
}

// mask hides keys by a bool mask, or adds one of floating-point type to the scores (B, H, Tq, Tk).
func (e *expr) mask(scores, mask *gorgonia.Node) *gorgonia.Node {
	if e.err == nil {
		e.err = graph.CheckMask(mask, scores.Shape(), scores.Dtype())
	}
	if mask.Dtype() == tensor.Bool {
		return e.fill(scores, mask, device.HiddenScore)
	}
	return e.add(scores, e.expand(mask, node.Dims(scores)...))
}
