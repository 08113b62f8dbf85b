package cpu

import (
	"slices"

	"tinylm/internal/device"
)

// launch plans g and returns the Launch that computes it.
func (g *gemm[F]) launch(d *Device) device.Launch {
	if set := vectors[F](d); set != nil && g.count*g.m*g.n*g.k > 0 {
		g := any(g).(*gemm[float32])
		if g.count == 1 && g.m <= fewRows && g.a.row != 1 && g.b.row != 1 {
			return newDotGemm(d, g, set.Products).launch()
		}
		return newVectorGemm(d, g, set.Products).launch()
	}
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
	for _, asked := range []bool{k.Bias, k.Residual, k.Slope != 0} {
		if asked {
			inputs++
		}
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
	if err := g.fuse(d, k, y.Shape, in[2:]); err != nil {
		return nil, err
	}
	return g.launch(d), nil
}

// fuse takes the inputs of k beside x and w, and its functions; shape is y's.
func (g *gemm[F]) fuse(d *Device, k device.Linear, shape []int, more []device.Buffer) error {
	take := func(what string, shape ...int) ([]F, error) {
		b := more[0]
		more = more[1:]
		return device.Slice[F](b), checkShape(k, what, b, shape...)
	}
	var err error
	if k.Bias {
		if g.bias, err = take("the bias", g.n); err != nil {
			return err
		}
	}
	if k.Residual {
		if g.start, err = take("the residual", shape...); err != nil {
			return err
		}
	}
	if k.Slope != 0 {
		if g.at, err = take("the slope's input", shape...); err != nil {
			return err
		}
		f, err := activationOn[F](d, k, k.Slope)
		if err != nil {
			return err
		}
		g.slope = f.grad
	}
	g.inputA, err = inputOf[F](d, k, k.Input)
	return err
}

// inputOf returns the function that a product applies to what it reads; nil for none.
func inputOf[F float](d *Device, k device.Kernel, kind device.ActivationKind) (func(y, x []F), error) {
	if kind == 0 {
		return nil, nil
	}
	f, err := activationOn[F](d, k, kind)
	return f.apply, err
}

func prepareLinearWeightGrad[F float](d *Device, k device.LinearWeightGrad, out, in []device.Buffer) (device.Launch, error) {
	base, in, err := takeBase[F](k, k.Add, out, in, 1, 2)
	if err != nil {
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
	input, err := inputOf[F](d, k, k.Input)
	if err != nil {
		return nil, err
	}
	g := &gemm[F]{count: 1, start: device.Slice[F](base), c: device.Slice[F](dw), inputA: input}
	if k.TransW { // dw = dyᵀ·x
		x, dy = dy, x
		g.inputA, g.inputB = nil, input
	}
	g.k, g.m = splitLast(x.Shape)
	_, g.n = splitLast(dy.Shape)
	if err := checkShape(k, "dw", dw, g.m, g.n); err != nil {
		return nil, err
	}
	g.a = rowMajor(device.Slice[F](x), g.m, true)
	g.b = rowMajor(device.Slice[F](dy), g.n, true)
	return g.launch(d), nil
}
