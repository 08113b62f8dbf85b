package main

// softmaxes are the kernels of elements.go for softmax and cross entropy.
var softmaxes = []routine{{
	name: "largest", doc: "is Elements.Max.", signature: "func(n int, x *float32) (top float32)",
	write: func(k *kernel) {
		x, least := k.pointer("x"), k.bits(0xff800000) // -Inf
		tops := k.variables(4, least)
		k.each(k.count("n"), len(tops), func(u int) {
			k.set(tops[u], k.max(k.active(k.load(x), least), tops[u]))
		}, x)
		k.result("top", k.largest(k.reduce(k.max, tops)))
	},
}, {
	name: "expRow", doc: "is Elements.Exp.", signature: "func(n int, y, x *float32, shift float32) (sum float64)",
	write: func(k *kernel) {
		y := k.pointer("y")
		exponentials(k, func(e value) { k.store(y, e) }, y)
	},
}, {
	name: "expSum", doc: "is Elements.ExpSum.", signature: "func(n int, x *float32, shift float32) (sum float64)",
	write: func(k *kernel) { exponentials(k, func(value) {}) },
}, {
	name: "scale", doc: "is Elements.Scale.", signature: "func(n int, y, x *float32, by float32)",
	write: func(k *kernel) {
		y, x, by := k.pointer("y"), k.pointer("x"), k.argument("by")
		k.each(k.count("n"), 4, func(int) { k.store(y, k.mul(by, k.load(x))) }, y, x)
	},
}, {
	name: "subtract", doc: "is Elements.Subtract.", signature: "func(n int, y, x *float32, a, b float32)",
	write: func(k *kernel) {
		y, x, a, b := k.pointer("y"), k.pointer("x"), k.argument("a"), k.argument("b")
		k.each(k.count("n"), 4, func(int) { k.store(y, k.sub(k.sub(k.load(x), a), b)) }, y, x)
	},
}, {
	name: "softmaxGrad", doc: "is Elements.SoftmaxGrad.", signature: "func(n int, dx, dy, y *float32)",
	write: func(k *kernel) {
		collect := func(dy, y scalar, sum value) value { return k.fma(k.load(dy), k.load(y), sum) }
		rowGrad(k, collect, func(dy, y, sum value) value { return k.mul(y, k.sub(dy, sum)) })
	},
}, {
	name: "logSoftmaxGrad", doc: "is Elements.LogSoftmaxGrad.", signature: "func(n int, dx, dy, y *float32)",
	write: func(k *kernel) {
		k.hold(12)
		collect := func(dy, _ scalar, sum value) value { return k.add(k.load(dy), sum) }
		rowGrad(k, collect, func(dy, y, sum value) value { return k.fnma(exp(k, y), sum, dy) })
	},
}}

// exponentials writes the sum of e^(x-shift), each of which goes through keep. Lanes are added up in float32, then
// together in float64: short rows have the sum of their values.
func exponentials(k *kernel, keep func(e value), moving ...scalar) {
	x, shift, zero := k.pointer("x"), k.argument("shift"), k.constant(0)
	sums := k.variables(4, zero)
	k.hold(12)
	k.each(k.count("n"), len(sums), func(u int) {
		e := expNegative(k, k.sub(k.load(x), shift))
		keep(e)
		k.set(sums[u], k.add(sums[u], k.active(e, zero)))
	}, append(moving, x)...)
	var parts []value
	for _, s := range sums {
		low, high := k.wide(s)
		parts = append(parts, low, high)
	}
	k.resultWide("sum", k.sumWide(k.reduce(k.addWide, parts)))
}

// rowGrad writes a gradient that needs a sum over its row first; missing elements add 0 to it.
func rowGrad(k *kernel, collect func(dy, y scalar, sum value) value, grad func(dy, y, sum value) value) {
	n, dx, dy, y := k.count("n"), k.pointer("dx"), k.pointer("dy"), k.pointer("y")
	dyRow, yRow := k.copy(dy), k.copy(y)
	sums := k.variables(4, k.constant(0))
	k.each(n, len(sums), func(u int) { k.set(sums[u], collect(dy, y, sums[u])) }, dy, y)
	sum := k.sum(k.reduce(k.add, sums))
	k.each(n, 4, func(int) { k.store(dx, grad(k.load(dyRow), k.load(yRow), sum)) }, dx, dyRow, yRow)
}
