package main

// norms are the kernels of elements.go for layer norm.
var norms = []routine{{
	name: "normRows", doc: "is the kernel of Elements.Norm.",
	signature: "func(rows, cols, back int, x, weight, bias *float32, size, eps float32, y, mean, rstd *float32)",
	write:     normRows,
}, {
	name: "normGradRows", doc: "is the kernel of Elements.NormGrad without base.",
	signature: "func(rows, cols, back int, x, weight, mean, rstd, dy *float32, size float32, dx, dweight, dbias *float32)",
	write:     func(k *kernel) { normGradRows(k, false) },
}, {
	name: "normGradAddRows", doc: "is the kernel of Elements.NormGrad with base.",
	signature: "func(rows, cols, back int, base, x, weight, mean, rstd, dy *float32, size float32, dx, dweight, dbias *float32)",
	write:     func(k *kernel) { normGradRows(k, true) },
}}

// normRows takes the mean in two steps: the second, over the differences from the first, finds what rounding took.
// The same differences give the variance.
func normRows(k *kernel) {
	const unroll = 4
	cols, back := k.count("cols"), k.count("back")
	x, weight, bias, y := k.pointer("x"), k.pointer("weight"), k.pointer("bias"), k.pointer("y")
	mean, rstd := k.pointer("mean"), k.pointer("rstd")
	zero, one, eps := k.constant(0), k.constant(1), k.argument("eps")
	part := k.div(one, k.argument("size"))
	average := func(sums []value) value { return k.mul(k.sum(k.reduce(k.add, sums)), part) }
	k.times(k.count("rows"), func() {
		sums := k.variables(unroll, zero)
		k.each(cols, unroll, func(u int) {
			k.set(sums[u], k.add(sums[u], k.load(x)))
		}, x)
		k.advance(x, back)
		near := average(sums)

		sums, squares := k.variables(unroll, zero), k.variables(unroll, zero)
		k.each(cols, unroll, func(u int) {
			d := k.active(k.sub(k.load(x), near), zero)
			k.set(squares[u], k.fma(d, d, squares[u]))
			k.set(sums[u], k.add(sums[u], d))
		}, x)
		k.advance(x, back)
		off := average(sums)
		m := k.add(near, off)
		variance := k.max(zero, k.fnma(off, off, average(squares)))
		r := k.div(one, k.sqrt(k.add(variance, eps)))
		k.storeOne(mean, 0, m)
		k.storeOne(rstd, 0, r)

		k.each(cols, unroll, func(int) {
			h := k.mul(k.sub(k.load(x), m), r)
			k.store(y, k.fma(h, k.load(weight), k.load(bias)))
		}, x, weight, bias, y)
		k.advance(weight, back)
		k.advance(bias, back)
		k.skip(mean, 4)
		k.skip(rstd, 4)
	})
}

// normGradRows adds to dweight and dbias in a first pass over the row, which also sums up what the second, that
// writes dx, takes away.
func normGradRows(k *kernel, add bool) {
	const unroll = 2
	cols, back, size := k.count("cols"), k.count("back"), k.argument("size")
	x, weight, dy := k.pointer("x"), k.pointer("weight"), k.pointer("dy")
	mean, rstd := k.pointer("mean"), k.pointer("rstd")
	dx, dweight, dbias := k.pointer("dx"), k.pointer("dweight"), k.pointer("dbias")
	written := []scalar{x, weight, dy, dx}
	var base scalar
	if add {
		base = k.pointer("base")
		written = append(written, base)
	}
	k.times(k.count("rows"), func() {
		m, r := k.loadOne(mean, 0), k.loadOne(rstd, 0)
		k.skip(mean, 4)
		k.skip(rstd, 4)
		normed := func() value { return k.mul(k.sub(k.load(x), m), r) }

		sums, dots := k.variables(unroll, k.constant(0)), k.variables(unroll, k.constant(0))
		k.each(cols, unroll, func(u int) {
			up, h := k.load(dy), normed()
			toWeight, toBias := k.fma(up, h, k.load(dweight)), k.add(k.load(dbias), up)
			k.store(dweight, toWeight)
			k.store(dbias, toBias)
			g := k.mul(up, k.load(weight))
			k.set(dots[u], k.fma(g, h, dots[u]))
			k.set(sums[u], k.add(sums[u], g))
		}, x, weight, dy, dweight, dbias)
		for _, p := range []scalar{x, weight, dy, dweight, dbias} {
			k.advance(p, back)
		}
		sub := k.div(k.sum(k.reduce(k.add, sums)), size)
		slope := k.div(k.sum(k.reduce(k.add, dots)), size)

		k.each(cols, unroll, func(int) {
			g := k.sub(k.mul(k.load(dy), k.load(weight)), sub)
			g = k.fnma(normed(), slope, g)
			if add {
				k.store(dx, k.fma(g, r, k.load(base)))
			} else {
				k.store(dx, k.mul(g, r))
			}
		}, written...)
		k.advance(weight, back)
	})
}
