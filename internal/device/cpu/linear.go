package cpu

import (
	"slices"

	"tinylm/internal/device"
)

// launch plans g and returns the Launch that computes it.
func (g *gemm[F]) launch(d *Device) device.Launch {
	chunks, scratch := g.plan()
	d.reserve(scratch)
	return d.parallel(chunks, func(chunk, worker int) { g.chunk(chunk, scratchOf[F](d, worker)) })
}

func prepareMatMul[F float](d *Device, k device.MatMul, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	a, b, c := in[0], in[1], out[0]
	if err := checkFloat[F](k, a, b, c); err != nil {
		return nil, err
	}
	rank := len(a.Shape)
	if rank < 2 || len(b.Shape) != rank || !slices.Equal(a.Shape[:rank-2], b.Shape[:rank-2]) {
		return nil, errShapes(k, "want two or more axes, the leading ones equal", a, b)
	}
	m, n := rank-2, rank-1 // axes of a that are not, and are, summed over, and the like for b
	ma, ka := a.Shape[m], a.Shape[n]
	kb, nb := b.Shape[m], b.Shape[n]
	if k.TransA {
		ma, ka = ka, ma
	}
	if k.TransB {
		kb, nb = nb, kb
	}
	if ka != kb {
		return nil, errShapes(k, "the axes to sum over differ", a, b)
	}
	if err := checkShape(k, "the result", c, append(slices.Clone(a.Shape[:m]), ma, nb)...); err != nil {
		return nil, err
	}
	g := &gemm[F]{
		m: ma, n: nb, k: ka, count: product(a.Shape[:m]),
		a: rowMajor(device.Slice[F](a), a.Shape[n], k.TransA),
		b: rowMajor(device.Slice[F](b), b.Shape[n], !k.TransB),
		c: device.Slice[F](c),
	}
	return g.launch(d), nil
}

func prepareLinear[F float](d *Device, k device.Linear, out, in []device.Buffer) (device.Launch, error) {
	inputs := 2
	if k.Bias {
		inputs = 3
	}
	if err := checkCount(k, out, in, 1, inputs); err != nil {
		return nil, err
	}
	x, w, y := in[0], in[1], out[0]
	if err := checkFloat[F](k, slices.Concat(in, out)...); err != nil {
		return nil, err
	}
	if len(x.Shape) == 0 || len(w.Shape) != 2 {
		return nil, errShapes(k, "want x with one or more axes and w with two", x, w)
	}
	rows, width := splitLast(x.Shape)
	from, to := w.Shape[0], w.Shape[1]
	if k.TransW {
		from, to = to, from
	}
	if from != width {
		return nil, errShapes(k, "the last axis of x is not the input axis of w", x, w)
	}
	if err := checkShape(k, "y", y, withLast(x.Shape, to)...); err != nil {
		return nil, err
	}
	g := &gemm[F]{
		m: rows, n: to, k: width, count: 1,
		a: rowMajor(device.Slice[F](x), width, false),
		b: rowMajor(device.Slice[F](w), w.Shape[1], !k.TransW),
		c: device.Slice[F](y),
	}
	if k.Bias {
		if err := checkShape(k, "the bias", in[2], to); err != nil {
			return nil, err
		}
		g.bias = device.Slice[F](in[2])
	}
	return g.launch(d), nil
}

func prepareLinearWeightGrad[F float](d *Device, k device.LinearWeightGrad, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	x, dy, dw := in[0], in[1], out[0]
	if err := checkFloat[F](k, x, dy, dw); err != nil {
		return nil, err
	}
	n := len(x.Shape) - 1
	if n < 0 || len(dy.Shape) != n+1 || !slices.Equal(x.Shape[:n], dy.Shape[:n]) {
		return nil, errShapes(k, "x and dy differ in a leading axis", x, dy)
	}
	if k.TransW { // dw = dyᵀ·x
		x, dy = dy, x
	}
	rows, from := splitLast(x.Shape)
	_, to := splitLast(dy.Shape)
	if err := checkShape(k, "dw", dw, from, to); err != nil {
		return nil, err
	}
	g := &gemm[F]{
		m: from, n: to, k: rows, count: 1,
		a: rowMajor(device.Slice[F](x), from, true),
		b: rowMajor(device.Slice[F](dy), to, true),
		c: device.Slice[F](dw),
	}
	return g.launch(d), nil
}
