package main

// additions are the kernels of elements.go that add.
var additions = []routine{{
	name: "add", doc: "is Elements.Add.", signature: "func(n int, y, a, b *float32)",
	write: func(k *kernel) {
		y, a, b := k.pointer("y"), k.pointer("a"), k.pointer("b")
		k.each(k.count("n"), 4, func(int) {
			k.store(y, k.add(k.load(a), k.load(b)))
		}, y, a, b)
	},
}, {
	name: "sumRows", doc: "is the kernel of Elements.SumRows.", signature: "func(fours, ones, cols, back, stride, next int, y, x *float32)",
	write: sumRows,
}, {
	name: "sumSquares", doc: "is Elements.SumSquares.", signature: "func(n int, x *float32) (sum float64)",
	write: func(k *kernel) {
		const unroll = 4
		x := k.pointer("x")
		sums := k.variables(2*unroll, k.constant(0))
		k.each(k.count("n"), unroll, func(u int) {
			low, high := k.wide(k.load(x))
			k.set(sums[2*u], k.fmaWide(low, low, sums[2*u]))
			k.set(sums[2*u+1], k.fmaWide(high, high, sums[2*u+1]))
		}, x)
		k.resultWide("sum", k.sumWide(k.reduce(k.addWide, sums)))
	},
}}

// sumRows goes through the rows as they lie in memory, four at a time, while the sums stay in the cache.
func sumRows(k *kernel) {
	cols, back, stride, next := k.count("cols"), k.count("back"), k.count("stride"), k.count("next")
	y, rows := k.pointer("y"), []scalar{k.pointer("x")}
	for i := 1; i < 4; i++ {
		rows = append(rows, k.copy(rows[i-1]))
		k.advance(rows[i], stride)
	}
	k.times(k.count("fours"), func() {
		k.each(cols, 4, func(int) {
			var x []value
			for _, p := range rows {
				x = append(x, k.load(p))
			}
			k.store(y, k.add(k.load(y), k.reduce(k.add, x)))
		}, y, rows[0], rows[1], rows[2], rows[3])
		k.advance(y, back)
		for _, p := range rows {
			k.advance(p, next)
		}
	})
	x := rows[0]
	k.times(k.count("ones"), func() {
		k.each(cols, 4, func(int) {
			k.store(y, k.add(k.load(y), k.load(x)))
		}, y, x)
		k.advance(y, back)
		k.advance(x, back)
		k.advance(x, stride)
	})
}
