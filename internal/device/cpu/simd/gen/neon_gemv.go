package main

// neonGemvs writes the kernels DotRows and AddRows of products.go.
func neonGemvs(a *arm) {
	neonDotRows(a)
	neonAddRows(a)
}

// neonDotRows reads eight rows at a time, as dotRows does, two registers of each.
func neonDotRows(a *arm) {
	a.function("dotRowsNEON", "multiplies a matrix by a vector; see Products.DotRows.",
		"func(n, k int, x, w *float32, ldw int, y *float32)")
	n, w, ldw, y := a.argument("n"), a.argument("w"), a.argument("ldw"), a.argument("y")
	group, whole, stored := a.newLabel("rows"), a.newLabel("whole"), a.newLabel("stored")
	a.label(group)
	sums := a.vregs(2 * rowsAtOnce)
	a.zero(sums...)
	a.body(func() { neonDots(a, sums, n, w, ldw) })
	for have := len(sums) / 2; have >= 2; have /= 2 { // pairs of neighbours
		for i := range have {
			a.faddp(sums[i], sums[2*i], sums[2*i+1])
		}
	}
	a.ins("CMP", "$8", n)
	a.ins("BGE", whole)
	a.byCount(n, rowsAtOnce-1, func(n int) {
		a.store(min(4, n), sums[0], y, 0)
		if n > 4 {
			a.store(n-4, sums[1], y, 16)
		}
	})
	a.ins("B", stored)
	a.label(whole)
	a.storePair(sums[0], sums[1], y, 0)
	a.label(stored)
	a.ins("ADD", "$32", y)
	a.ins("ADD", shifted(ldw, 3), w)
	a.ins("SUBS", "$8", n)
	a.ins("BGT", group)
	a.ins("RET")
}

// neonDots adds up the products of the next eight rows with x, in two sums to a row; of the last row again
// where they are fewer.
func neonDots(a *arm, sums []vreg, n, w, ldw xreg) {
	k, x := a.argument("k"), a.argument("x")
	rows := make([]xreg, rowsAtOnce)
	for i := range rows {
		rows[i] = a.xreg()
		if i == 0 {
			a.ins("MOVD", w, rows[i])
			continue
		}
		a.ins("ADD", ldw, rows[i-1], rows[i])
		a.ins("CMP", immediate(i), n)
		a.ins("CSEL", "LE", rows[i-1], rows[i], rows[i])
	}
	v, r := a.vregs(2), a.vregs(4)
	turn, rest, done := a.newLabel("turn"), a.newLabel("rest"), a.newLabel("done")
	a.ins("SUBS", "$8", k)
	a.ins("BLT", rest)
	a.loop(turn)
	a.nextPair(v[0], v[1], x)
	for i, p := range rows {
		r := r[i%2*2:]
		a.nextPair(r[0], r[1], p)
		a.fmla(sums[2*i], r[0], v[0])
		a.fmla(sums[2*i+1], r[1], v[1])
	}
	a.ins("SUBS", "$8", k)
	a.ins("BGE", turn)
	a.label(rest)
	a.ins("ADDS", "$8", k)
	a.ins("BEQ", done)
	a.byCount(k, 7, func(n int) {
		for j := 0; 4*j < n; j++ {
			a.load(min(4, n-4*j), v[j], x, 16*j)
			for i, p := range rows {
				a.load(min(4, n-4*j), r[i%4], p, 16*j)
				a.fmla(sums[2*i+j], r[i%4], v[j])
			}
		}
	})
	a.label(done)
}

// neonAddRows adds eight rows in one pass over y, and those that are left one by one, as addRows does.
func neonAddRows(a *arm) {
	a.function("addRowsNEON", "adds multiples of rows; see Products.AddRows.",
		"func(k, n int, x, w *float32, ldw int, y *float32)")
	k, w, x, ldw := a.argument("k"), a.argument("w"), a.argument("x"), a.argument("ldw")
	many, few, one, done := a.newLabel("many"), a.newLabel("few"), a.newLabel("one"), a.newLabel("done")
	a.label(many)
	a.ins("CMP", immediate(rowsAtOnce), k)
	a.ins("BLT", few)
	a.body(func() { neonAddSome(a, rowsAtOnce, x, w, ldw) })
	a.ins("SUB", immediate(rowsAtOnce), k)
	a.ins("B", many)
	a.label(few)
	a.ins("CBZ", k, done)
	a.label(one)
	a.body(func() { neonAddSome(a, 1, x, w, ldw) })
	a.countDown(k, one)
	a.label(done)
	a.ins("RET")
}

// neonAddSome adds the next rows, and moves x and w behind them.
func neonAddSome(a *arm, count int, x, w, ldw xreg) {
	n, y := a.argument("n"), a.argument("y")
	factors := a.vregs((count + 3) / 4)
	for i, f := range factors {
		a.load(min(4, count), f, x, 16*i)
	}
	a.ins("ADD", immediate(4*count), x)
	rows := make([]xreg, count)
	for i := range rows {
		rows[i] = a.xreg()
		a.ins("MOVD", w, rows[i])
		a.ins("ADD", ldw, w)
	}
	v, r := a.vregs(4), a.vregs(8)
	turn, rest, single, last, done := a.newLabel("turn"), a.newLabel("rest"), a.newLabel("single"), a.newLabel("last"), a.newLabel("done")
	a.ins("SUBS", "$16", n)
	a.ins("BLT", rest)
	a.loop(turn)
	a.loadPair(v[0], v[1], y, 0)
	a.loadPair(v[2], v[3], y, 32)
	for i, p := range rows {
		r := r[i%2*4:]
		a.nextPair(r[0], r[1], p)
		a.nextPair(r[2], r[3], p)
		for j := range v {
			a.fmlaLane(v[j], r[j], factors[i/4], i%4)
		}
	}
	a.ins("FSTPQ.P", pair(v[0], v[1]), "32"+mem(y, 0))
	a.ins("FSTPQ.P", pair(v[2], v[3]), "32"+mem(y, 0))
	a.ins("SUBS", "$16", n)
	a.ins("BGE", turn)
	a.label(rest)
	a.ins("ADDS", "$12", n) // n is 4 less than what is left
	a.ins("BLT", last)
	add := func(have int) {
		a.load(have, v[0], y, 0)
		for i, p := range rows {
			a.load(have, r[i], p, 0)
			a.ins("ADD", "$16", p)
			a.fmlaLane(v[0], r[i], factors[i/4], i%4)
		}
		a.store(have, v[0], y, 0)
		a.ins("ADD", "$16", y)
	}
	a.label(single)
	add(4)
	a.ins("SUBS", "$4", n)
	a.ins("BGE", single)
	a.label(last)
	a.ins("ADDS", "$4", n)
	a.ins("BEQ", done)
	a.byCount(n, 3, add)
	a.label(done)
}
