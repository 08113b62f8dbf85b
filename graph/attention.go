package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
	"tinylm/internal/node"
	"tinylm/internal/value"
)

// AttentionConfig says which keys a query sees and what is dropped.
type AttentionConfig struct {
	// Heads is the number of heads of a packed projection; unused where the inputs have a head axis.
	Heads int
	// Causal lets query i see keys 0..i only; weights of later keys are exactly 0.
	Causal bool
	// Mask, if not nil, is (Tq, Tk) or (B or 1, H or 1, Tq, Tk). Of type bool, true hides a key: its
	// score becomes -1e9, so that a row with everything hidden attends evenly and stays finite. Of the
	// inputs' floating-point type it is added to the scores; a row of -Inf gives zero weights. A mask
	// has no gradient. With Causal it acts among keys 0..i.
	Mask *gorgonia.Node
	// Dropout is applied to the weights.
	Dropout DropoutConfig
}

// Causal is the configuration of a decoder's self-attention.
func Causal(heads int) AttentionConfig { return AttentionConfig{Heads: heads, Causal: true} }

// Attention is multi-head self-attention on a fused projection: qkv (B, T, 3C), the queries of all heads,
// then the keys, then the values, C = Heads*D; result (B, T, C), the heads side by side.
// For each head it is softmax(q·kᵀ/sqrt(D))·v (Vaswani et al. 2017, eq. 1), without a (T, T) matrix.
func Attention(qkv *gorgonia.Node, c AttentionConfig) (*gorgonia.Node, error) {
	t, err := float(qkv)
	if err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	if qkv.Dims() != 3 || c.Heads < 1 || node.Last(qkv)%(3*c.Heads) != 0 {
		return nil, fmt.Errorf("attention: qkv %v with %d heads; want (B, T, 3C) with C divisible by the heads",
			qkv.Shape(), c.Heads)
	}
	b, n, ch := qkv.Shape()[0], qkv.Shape()[1], node.Last(qkv)/3
	k := device.Attention{Heads: c.Heads, Packed: true}
	out := []device.Spec{
		{DType: t, Shape: []int{b, n, ch}},         // y
		{DType: t, Shape: []int{b, c.Heads, n, 2}}, // row statistics
	}
	return attention(k, c, []int{b, c.Heads, n, n}, out, qkv)
}

// ScaledDotProductAttention is attention with the heads apart: q (B, H, Tq, D), k (B, H, Tk, D),
// v (B, H, Tk, Dv); result (B, H, Tq, Dv). Tk may differ from Tq and Dv from D.
func ScaledDotProductAttention(q, k, v *gorgonia.Node, c AttentionConfig) (*gorgonia.Node, error) {
	t, err := float(q, k, v)
	if err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	if q.Dims() != 4 || k.Dims() != 4 || v.Dims() != 4 ||
		!equal(q.Shape()[:2], k.Shape()[:2]) || !equal(k.Shape()[:3], v.Shape()[:3]) || node.Last(q) != node.Last(k) {
		return nil, fmt.Errorf("attention: q, k, v %s; want (B, H, Tq, D), (B, H, Tk, D), (B, H, Tk, Dv)", shapes(q, k, v))
	}
	b, h, tq, tk := q.Shape()[0], q.Shape()[1], q.Shape()[2], k.Shape()[2]
	out := []device.Spec{
		{DType: t, Shape: []int{b, h, tq, node.Last(v)}},
		{DType: t, Shape: []int{b, h, tq, 2}},
	}
	return attention(device.Attention{}, c, []int{b, h, tq, tk}, out, q, k, v)
}

// attention adds what both forms share: mask, dropout, gradient. scores is (B, H, Tq, Tk).
func attention(k device.Attention, c AttentionConfig, scores []int, out []device.Spec, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	k.Causal = c.Causal
	diff := len(in)
	if c.Mask != nil {
		kind, err := maskKind(c.Mask, scores, in[0].Dtype())
		if err != nil {
			return nil, err
		}
		k.Mask = kind
		in = append(in, c.Mask)
	}
	if err := c.Dropout.check(); err != nil {
		return nil, err
	}
	if c.Dropout.P > 0 {
		k.P, k.Site = c.Dropout.P, c.Dropout.Site
		in = append(in, c.Dropout.RNG)
	}
	return result(apply(rule{kernel: k, out: out, grad: attentionGrad(k, diff), diff: diff}, in...))
}

func attentionGrad(k device.Attention, diff int) gradient {
	return func(in gorgonia.Nodes, packed, grad *gorgonia.Node) (gorgonia.Nodes, error) {
		dy, err := unwrap(grad)
		if err != nil {
			return nil, err
		}
		saved, err := parts(packed, nil)
		if err != nil {
			return nil, err
		}
		var out []device.Spec
		for _, n := range in[:diff] {
			out = append(out, like(n))
		}
		n, err := apply(rule{kernel: device.AttentionGrad(k), out: out},
			append(append(gorgonia.Nodes{}, in...), saved[0], saved[1], dy)...)
		if err != nil || diff == 1 {
			return gorgonia.Nodes{n}, err
		}
		return parts(n, nil)
	}
}

// maskKind checks a mask against scores (B, H, Tq, Tk) of type t.
func maskKind(mask *gorgonia.Node, scores []int, t tensor.Dtype) (device.MaskKind, error) {
	s := mask.Shape()
	ok := equal(s, scores[2:]) || len(s) == 4 && equal(s[2:], scores[2:]) &&
		(s[0] == 1 || s[0] == scores[0]) && (s[1] == 1 || s[1] == scores[1])
	if !ok {
		return 0, fmt.Errorf("attention: mask %v does not broadcast to scores %v; want (Tq, Tk) or (B or 1, H or 1, Tq, Tk)", s, scores)
	}
	if _, err := value.DTypeOf(mask.Dtype()); err != nil {
		return 0, fmt.Errorf("attention: mask: %w", err)
	}
	switch mask.Dtype() {
	case tensor.Bool:
		return device.BoolMask, nil
	case t:
		return device.AdditiveMask, nil
	}
	return 0, fmt.Errorf("attention: mask of type %v; want bool or %v", mask.Dtype(), t)
}

// CheckMask reports an error unless the mask can hide or shift scores (B, H, Tq, Tk) of type t; see
// AttentionConfig. It is for builders of attention outside this package.
func CheckMask(mask *gorgonia.Node, scores []int, t tensor.Dtype) error {
	_, err := maskKind(mask, scores, t)
	return err
}
