package simd

// AdamWFactors are what an update by AdamW multiplies with and adds, the same for all elements:
//
//	g' = Scale*g;  m = m + Blend1*(g'-m);  v = Beta2*v + Blend2*g'*g';
//	w = Keep*w + Step*m/(Root*sqrt(v) + Eps)
//
// Step is negative: the way down.
type AdamWFactors[F float32 | float64] struct {
	Scale, Blend1, Beta2, Blend2, Root, Eps, Keep, Step F
}

// AdamW updates n parameters w and their moments m and v by their gradients g.
func (e *Elements) AdamW(n int, w, m, v, g *float32, f *AdamWFactors[float32]) {
	e.adamW(n, w, m, v, g, &f.Scale)
}

// Norm is layer norm of contiguous rows: y = weight*(x-mean)*rstd + bias with rstd = 1/sqrt(variance + eps).
// The mean and rstd of each row are written too.
func (e *Elements) Norm(rows, cols int, x, weight, bias *float32, eps float32, y, mean, rstd *float32) {
	e.norm(rows, cols, -4*cols, x, weight, bias, float32(cols), eps, y, mean, rstd)
}

// NormGrad is the gradient of Norm for rows that have dy: dx, to which base is added unless it is nil and which
// may lie on base, and what the rows add to dweight and dbias.
func (e *Elements) NormGrad(rows, cols int, base, x, weight, mean, rstd, dy, dx, dweight, dbias *float32) {
	if base == nil {
		e.normGrad(rows, cols, -4*cols, x, weight, mean, rstd, dy, float32(cols), dx, dweight, dbias)
		return
	}
	e.normGradAdd(rows, cols, -4*cols, base, x, weight, mean, rstd, dy, float32(cols), dx, dweight, dbias)
}

// SumRows adds rows of x, stride bytes apart, to y: four together, one such sum after the other, then those that
// are left one by one.
func (e *Elements) SumRows(rows, cols int, y, x *float32, stride int) {
	e.sumRows(rows/4, rows%4, cols, -4*cols, stride, 4*stride-4*cols, y, x)
}
