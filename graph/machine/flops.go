package machine

import "tinylm/internal/device"

// flops returns the floating-point operations of a kernel's matrix products, a multiplication and an addition
// counting as two. A kernel without products has none: what it costs is the memory that it moves. Legend of
// the shapes: see internal/device.
func flops(k device.Kernel, out, in []device.Spec) int64 {
	switch k := k.(type) {
	case device.MatMul:
		return 2 * size(out[0]) * inner(in[0], k.TransA) // (G..., M, N), K
	case device.Linear:
		return 2 * size(out[0]) * last(in[0]) // (N..., M), K
	case device.LinearWeightGrad:
		return 2 * size(out[0]) * rows(in[len(in)-1]) // (K, M), N
	case device.Attention:
		return attentionFLOPs(k, out[0], in, 1, 1)
	case device.AttentionGrad: // scores again, dq and dk; dv and the gradient of the weights
		return attentionFLOPs(device.Attention(k), in[len(in)-3], in, 3, 2)
	case device.CachedAttention: // as if the cache were full
		keys := in[0].Shape // (R, H, M, D)
		return 4 * size(out[0]) * int64(keys[2])
	}
	return 0
}

// attentionFLOPs counts products of (Tq, Tk) matrices with as many columns as keys have, and as values have.
// y is the result of the forward kernel.
func attentionFLOPs(k device.Attention, y device.Spec, in []device.Spec, byKeys, byValues int64) int64 {
	if k.Packed { // y (B, T, C)
		b, t, c := int64(y.Shape[0]), int64(y.Shape[1]), int64(y.Shape[2])
		return 2 * b * pairs(t, t, k.Causal) * c * (byKeys + byValues)
	}
	q, key := in[0].Shape, in[1].Shape // (B, H, Tq, D), (B, H, Tk, D)
	heads := int64(q[0]) * int64(q[1])
	return 2 * heads * pairs(int64(q[2]), int64(key[2]), k.Causal) * (byKeys*int64(q[3]) + byValues*last(y))
}

// pairs counts which query sees which key: all, or the first i+1 of query i.
func pairs(tq, tk int64, causal bool) int64 {
	if !causal {
		return tq * tk
	}
	n := min(tq, tk) // queries that do not see all
	return n*(n+1)/2 + (tq-n)*tk
}

func size(s device.Spec) int64 { return int64(s.Len()) }

func last(s device.Spec) int64 { return int64(s.Shape[len(s.Shape)-1]) }

// rows counts the rows of the last axis.
func rows(s device.Spec) int64 {
	n := int64(1)
	for _, d := range s.Shape[:len(s.Shape)-1] {
		n *= int64(d)
	}
	return n
}

// inner is K of a (G..., M, K), or with trans of a (G..., K, M).
func inner(s device.Spec, trans bool) int64 {
	if trans {
		return int64(s.Shape[len(s.Shape)-2])
	}
	return last(s)
}
