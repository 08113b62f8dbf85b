package devicetest

import (
	"fmt"
	"math"
	"slices"

	"tinylm/internal/device"
)

// attentionShape is B, H, Tq, Tk, D and Dv.
type attentionShape struct{ b, h, tq, tk, d, dv int }

func attentionCases() []Case {
	var cases []Case
	kinds := []device.Attention{
		{}, {Causal: true}, {Mask: device.BoolMask}, {Mask: device.AdditiveMask}, {Causal: true, Mask: device.BoolMask},
		{Causal: true, Mask: device.AdditiveMask, P: 0.3, Site: 5}, {Mask: device.BoolMask, P: 0.1, Site: 1}, {Causal: true, P: 0.2},
	}
	seed := uint64(0)
	for _, k := range kinds {
		for _, s := range []attentionShape{
			{1, 1, 1, 1, 1, 1}, {2, 1, 1, 5, 4, 3}, {1, 3, 2, 3, 3, 3}, {2, 2, 9, 9, 4, 4}, {2, 3, 17, 10, 5, 7}, {1, 2, 10, 21, 8, 1},
			{2, 1, 130, 70, 3, 2}, {1, 1, 67, 130, 2, 3},
		} {
			for _, mask := range maskShapes(k, s) {
				seed++
				cases = append(cases, attentionCase(k, s, mask, seed)...)
			}
		}
		k.Packed = true
		for _, s := range []attentionShape{{1, 1, 1, 1, 1, 1}, {2, 3, 5, 5, 2, 2}, {3, 2, 33, 33, 4, 4}, {1, 1, 150, 150, 2, 2}} {
			k.Heads = s.h
			seed++
			cases = append(cases, attentionCase(k, s, maskShapes(k, s)[0], seed)...)
		}
	}
	return append(cases, attentionTileCases()...)
}

// attentionTileCases have sizes about those of tiles: of queries, of keys, of columns; and several of each.
func attentionTileCases() []Case {
	kinds := []device.Attention{
		{Causal: true}, {}, {Causal: true, Mask: device.BoolMask, P: 0.2, Site: 9}, {Mask: device.AdditiveMask, P: 0.5}, {Causal: true, Mask: device.AdditiveMask},
	}
	seed := uint64(2000)
	var cases []Case
	for i, s := range []attentionShape{
		{1, 2, 127, 127, 8, 8}, {1, 1, 128, 128, 33, 32}, {1, 1, 129, 129, 32, 64}, {1, 1, 70, 67, 64, 80}, {2, 1, 63, 200, 80, 33},
		{1, 1, 200, 90, 16, 15}, {1, 1, 30, 140, 256, 70}, {1, 1, 270, 270, 9, 8}, {1, 1, 1, 270, 64, 64},
		{1, 2, 256, 256, 17, 17}, {1, 1, 255, 256, 16, 16}, {1, 1, 257, 256, 16, 33},
	} {
		for _, k := range []device.Attention{kinds[i%len(kinds)], kinds[(i+2)%len(kinds)]} {
			seed++
			cases = append(cases, attentionCase(k, s, maskShapes(k, s)[0], seed)...)
			if s.tq == s.tk && s.d == s.dv {
				k.Packed, k.Heads = true, s.h
				cases = append(cases, attentionCase(k, s, maskShapes(k, s)[0], seed)...)
			}
		}
	}
	for _, s := range []attentionShape{{2, 3, 64, 64, 32, 32}, {1, 2, 129, 129, 64, 64}, {1, 1, 257, 257, 8, 8}, {1, 1, 530, 530, 2, 2}} {
		seed++
		cases = append(cases, attentionCase(device.Attention{Packed: true, Heads: s.h, Causal: true, P: 0.1}, s, nil, seed)...)
	}
	return cases
}

// maskShapes returns the shapes a mask may have; one nil without a mask.
func maskShapes(k device.Attention, s attentionShape) [][]int {
	if k.Mask == device.NoMask {
		return [][]int{nil}
	}
	shapes := [][]int{{s.tq, s.tk}}
	if s.b*s.h > 1 && s.tq < 20 {
		shapes = append(shapes, []int{s.b, s.h, s.tq, s.tk}, []int{1, s.h, s.tq, s.tk}, []int{s.b, 1, s.tq, s.tk})
	}
	return shapes
}

// attentionCase returns the case of an attention and that of its gradient.
func attentionCase(k device.Attention, s attentionShape, mask []int, seed uint64) []Case {
	var in []Tensor
	var results, grads []Tensor
	if k.Packed {
		in = []Tensor{random(seed, s.b, s.tq, 3*s.h*s.d)}
		results = []Tensor{empty(s.b, s.tq, s.h*s.d)}
	} else {
		in = []Tensor{random(seed, s.b, s.h, s.tq, s.d), random(seed+500, s.b, s.h, s.tk, s.d), random(seed+600, s.b, s.h, s.tk, s.dv)}
		results = []Tensor{empty(s.b, s.h, s.tq, s.dv)}
	}
	for _, x := range in {
		grads = append(grads, empty(x.Shape...))
	}
	results = append(results, empty(s.b, s.h, s.tq, 2))
	if mask != nil {
		in = append(in, maskOf(k.Mask, seed, mask))
	}
	if k.P > 0 {
		in = append(in, rngOf(int64(seed)*12345678901, 3, 7))
	}
	var values [][]float64
	for _, x := range in {
		values = append(values, x.Data)
	}
	f := newAttentionRef(k, s, mask, values)
	dy := random(seed+700, results[0].Shape...)
	y := f.forward()
	more := []Tensor{of(0, results[0].Shape, y[0]...), of(0, results[1].Shape, y[1]...), dy}
	name := fmt.Sprintf("%+v,packed=%v,causal=%v,mask=%d%v,p=%v", s, k.Packed, k.Causal, k.Mask, mask, k.P)
	forward := Case{
		Name:   name,
		Kernel: k,
		In:     in,
		Out:    results,
		Ref:    func(in [][]float64) [][]float64 { return newAttentionRef(k, s, mask, in).forward() },
	}
	if dq := f.backward(dy.Data)[0]; max(slices.Max(dq), -slices.Min(dq)) < 1e-9 {
		return []Case{forward} // gradients that are 0 but for rounding, as where each query sees one key
	}
	return []Case{forward, {
		Name:   name,
		Kernel: device.AttentionGrad(k),
		In:     slices.Concat(in, more),
		Out:    grads,
		Ref:    func(in [][]float64) [][]float64 { return newAttentionRef(k, s, mask, in).backward(in[len(in)-1]) },
	}}
}

// maskOf hides some keys, of the first query and some others all of them.
func maskOf(kind device.MaskKind, seed uint64, shape []int) Tensor {
	m := random(seed+800, shape...)
	tk := shape[len(shape)-1]
	for i, v := range m.Data {
		hidden := v > 0.7 || i/tk%5 == 0
		switch {
		case kind == device.BoolMask && hidden:
			m.Data[i] = 1
		case kind == device.BoolMask:
			m.Data[i] = 0
		case hidden:
			m.Data[i] = math.Inf(-1)
		}
	}
	if kind == device.BoolMask {
		m.DType = device.Bool
	}
	return m
}

// attentionRef computes attention with whole matrices of scores and weights, element by element.
type attentionRef struct {
	k       device.Attention
	s       attentionShape
	q, v, w []float64 // queries (B, H, Tq, D), values (B, H, Tk, Dv), weights (B, H, Tq, Tk)
	key     []float64 // keys (B, H, Tk, D)
	stats   []float64
	hidden  []bool    // (B, H, Tq, Tk): score does not depend on q and k
	keep    []float64 // (B, H, Tq, Tk): factors of dropout
}

func newAttentionRef(k device.Attention, s attentionShape, mask []int, in [][]float64) *attentionRef {
	r := &attentionRef{k: k, s: s}
	if k.Packed {
		r.q, r.key, r.v = r.unpack(in[0], 0, 3), r.unpack(in[0], 1, 3), r.unpack(in[0], 2, 3)
		in = in[1:]
	} else {
		r.q, r.key, r.v = in[0], in[1], in[2]
		in = in[3:]
	}
	var maskData []float64
	if k.Mask != device.NoMask {
		maskData, in = in[0], in[1:]
	}
	if k.P > 0 {
		for b := range s.b {
			r.keep = append(r.keep, keepRef(k.P, k.Site, in[0], b, s.h*s.tq*s.tk)...)
		}
	} else {
		r.keep = slices.Repeat([]float64{1}, s.b*s.h*s.tq*s.tk)
	}
	r.hidden = make([]bool, s.b*s.h*s.tq*s.tk)
	for b := range s.b {
		for h := range s.h {
			for i := range s.tq {
				r.row(b, h, i, mask, maskData)
			}
		}
	}
	return r
}

// row appends the weights and stats of one query.
func (r *attentionRef) row(b, h, i int, mask []int, maskData []float64) {
	s := r.s
	bh := b*s.h + h
	scores := make([]float64, s.tk)
	for j := range scores {
		for c := range s.d {
			scores[j] += r.q[(bh*s.tq+i)*s.d+c] * r.key[(bh*s.tk+j)*s.d+c]
		}
		scores[j] /= math.Sqrt(float64(s.d))
		if maskData != nil {
			at := i*s.tk + j
			if len(mask) == 4 {
				at += (b%mask[0]*mask[1] + h%mask[1]) * s.tq * s.tk
			}
			if r.k.Mask == device.AdditiveMask {
				scores[j] += maskData[at]
			} else if maskData[at] != 0 {
				scores[j] = -1e9
				r.hidden[(bh*s.tq+i)*s.tk+j] = true
			}
		}
		if r.k.Causal && j > i {
			scores[j] = math.Inf(-1)
		}
	}
	w := softmaxRef(false, s.tk, scores)
	top, sum := slices.Max(scores), 0.0
	for _, x := range scores {
		sum += math.Exp(x - top)
	}
	if math.IsInf(top, -1) {
		top, sum = 0, math.Inf(1)
		clear(w)
	}
	r.w = append(r.w, w...)
	r.stats = append(r.stats, top, 1/sum)
}

// forward returns y and stats.
func (r *attentionRef) forward() [][]float64 {
	s := r.s
	y := make([]float64, s.b*s.h*s.tq*s.dv)
	r.each(func(bh, i, j, at int) {
		for c := range s.dv {
			y[(bh*s.tq+i)*s.dv+c] += r.w[at] * r.keep[at] * r.v[(bh*s.tk+j)*s.dv+c]
		}
	})
	if r.k.Packed {
		y = r.pack(y)
	}
	return [][]float64{y, r.stats}
}

// backward returns the gradients of q, k and v.
func (r *attentionRef) backward(dy []float64) [][]float64 {
	s := r.s
	if r.k.Packed {
		dy = r.unpack(dy, 0, 1)
	}
	dw, dot := make([]float64, len(r.w)), make([]float64, len(r.w)/s.tk)
	dv := make([]float64, len(r.v))
	r.each(func(bh, i, j, at int) {
		for c := range s.dv {
			up := dy[(bh*s.tq+i)*s.dv+c]
			dv[(bh*s.tk+j)*s.dv+c] += r.w[at] * r.keep[at] * up
			dw[at] += r.keep[at] * up * r.v[(bh*s.tk+j)*s.dv+c]
		}
		dot[at/s.tk] += r.w[at] * dw[at]
	})
	dq, dk := make([]float64, len(r.q)), make([]float64, len(r.key))
	r.each(func(bh, i, j, at int) {
		if r.hidden[at] {
			return
		}
		ds := r.w[at] * (dw[at] - dot[at/s.tk]) / math.Sqrt(float64(s.d))
		for c := range s.d {
			dq[(bh*s.tq+i)*s.d+c] += ds * r.key[(bh*s.tk+j)*s.d+c]
			dk[(bh*s.tk+j)*s.d+c] += ds * r.q[(bh*s.tq+i)*s.d+c]
		}
	})
	if r.k.Packed {
		return [][]float64{r.pack(dq, dk, dv)}
	}
	return [][]float64{dq, dk, dv}
}

// each calls f for every query i and key j of every head, at their place in the matrices.
func (r *attentionRef) each(f func(bh, i, j, at int)) {
	for at := range r.w {
		f(at/(r.s.tq*r.s.tk), at/r.s.tk%r.s.tq, at%r.s.tk, at)
	}
}

// unpack returns part (of parts) of x (B, T, parts*H*D) as (B, H, T, D).
func (r *attentionRef) unpack(x []float64, part, parts int) []float64 {
	s := r.s
	var out []float64
	for b := range s.b {
		for h := range s.h {
			for t := range s.tq {
				at := ((b*s.tq+t)*parts+part)*s.h*s.d + h*s.d
				out = append(out, x[at:at+s.d]...)
			}
		}
	}
	return out
}

// pack lays tensors (B, H, T, D) side by side as (B, T, len(xs)*H*D).
func (r *attentionRef) pack(xs ...[]float64) []float64 {
	s := r.s
	var out []float64
	for b := range s.b {
		for t := range s.tq {
			for _, x := range xs {
				for h := range s.h {
					at := ((b*s.h+h)*s.tq + t) * s.d
					out = append(out, x[at:at+s.d]...)
				}
			}
		}
	}
	return out
}
