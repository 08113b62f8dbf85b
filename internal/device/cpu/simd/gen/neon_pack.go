package main

// neonPacks writes the kernels PackRows and PackColumns of products.go.
func neonPacks(a *arm) {
	neonPackRows(a)
	neonPackColumns(a)
}

func neonPackRows(a *arm) {
	a.function("packRowsNEON", "copies rows into a panel; see Products.PackRows.", packSignature)
	k, cols := a.argument("k"), a.argument("cols")
	src, ld, dst, ldd := a.argument("src"), a.argument("ld"), a.argument("dst"), a.argument("ldd")
	x := a.vregs(4)
	a.zero(x...)
	a.byCount(cols, 16, func(n int) {
		row := a.newLabel("row")
		a.label(row)
		for j := 0; 4*j < n; j++ {
			a.load(min(4, n-4*j), x[j], src, 16*j)
		}
		a.storePair(x[0], x[1], dst, 0)
		if n > 8 {
			a.storePair(x[2], x[3], dst, 32)
		}
		a.ins("ADD", ld, src)
		a.ins("ADD", ldd, dst)
		a.countDown(k, row)
	})
	a.ins("RET")
}

// neonPackColumns transposes squares of four rows and four columns.
func neonPackColumns(a *arm) {
	a.function("packColumnsNEON", "copies columns into a panel; see Products.PackColumns.", packSignature)
	cols, src, ld := a.argument("cols"), a.argument("src"), a.argument("ld")
	dst, ldd := a.argument("dst"), a.argument("ldd")
	k, to, have, width := a.xreg(), a.xreg(), a.xreg(), a.xreg()
	a.ins("MOVD", "$8", width)
	a.ins("MOVD", "$16", have)
	a.ins("CMP", width, cols)
	a.ins("CSEL", "GT", have, width, width)
	four, some, next := a.newLabel("four"), a.newLabel("some"), a.newLabel("next")
	a.label(four)
	a.ins("MOVD", a.parameter("k"), k)
	a.ins("MOVD", dst, to)
	a.ins("CMP", "$0", cols)
	a.ins("BGT", some)
	a.body(func() { neonPackZeros(a, k, to, ldd) })
	a.ins("B", next)
	a.label(some)
	a.ins("MOVD", "$4", have)
	a.ins("CMP", have, cols)
	a.ins("CSEL", "LT", cols, have, have)
	a.byCount(have, 4, func(n int) { neonPackSquares(a, n, k, src, ld, to, ldd) })
	a.label(next)
	a.ins("ADD", "$16", dst)
	a.ins("ADD", shifted(ld, 2), src)
	a.ins("SUB", "$4", cols)
	a.ins("SUBS", "$4", width)
	a.ins("BGT", four)
	a.ins("RET")
}

// neonPackZeros clears four columns of k rows at to.
func neonPackZeros(a *arm, k, to, ldd xreg) {
	zero, row := a.vreg(), a.newLabel("zeros")
	a.zero(zero)
	a.label(row)
	a.store(4, zero, to, 0)
	a.ins("ADD", ldd, to)
	a.countDown(k, row)
}

// neonPackSquares makes n rows at src, at most four, columns of k rows at to.
func neonPackSquares(a *arm, n int, k, src, ld, to, ldd xreg) {
	rows, t, columns := a.vregs(4), a.vregs(4), a.vregs(4)
	from := make([]xreg, n)
	for i := range from {
		from[i] = a.xreg()
		if i == 0 {
			a.ins("MOVD", src, from[i])
		} else {
			a.ins("ADD", ld, from[i-1], from[i])
		}
	}
	square := func(have int) {
		for i, r := range from {
			a.load(have, rows[i], r, 0)
			a.ins("ADD", "$16", r)
		}
		a.transpose(columns, rows, t)
		for _, r := range columns[:have] {
			a.store(4, r, to, 0)
			a.ins("ADD", ldd, to)
		}
	}
	turn, rest, done := a.newLabel("square"), a.newLabel("rest"), a.newLabel("done")
	a.zero(rows[n:]...)
	a.ins("SUBS", "$4", k)
	a.ins("BLT", rest)
	a.label(turn)
	square(4)
	a.ins("SUBS", "$4", k)
	a.ins("BGE", turn)
	a.label(rest)
	a.ins("ADDS", "$4", k)
	a.ins("BEQ", done)
	a.byCount(k, 3, square)
	a.label(done)
}
