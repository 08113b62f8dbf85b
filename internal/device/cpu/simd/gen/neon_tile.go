package main

import "fmt"

// neonTiles writes the kernels Tile of products.go: four registers wide and 1 to 6 rows, so that the 24 sums
// leave registers for two of B and six of A.
func neonTiles(a *arm) {
	for rows := 1; rows <= 6; rows++ {
		a.function(fmt.Sprintf("tileNEONx%d", rows), fmt.Sprintf("is a Tile of %d rows and up to 16 columns.", rows),
			"func(k int, a *float32, row, col int, b *float32, ldb, cols int, c *float32, ldc int, start, add *float32, ldadd int)")
		cols := a.argument("cols")
		for width := 1; width <= 4; width++ {
			wider := a.newLabel("wider")
			if width < 4 {
				a.ins("CMP", "$4", cols)
				a.ins("BGT", wider)
			}
			a.body(func() { neonTile(a, rows, width, cols) })
			if width < 4 {
				a.label(wider)
				a.ins("SUB", "$4", cols)
			}
		}
	}
}

// neonTile writes a body for rows of width registers, the last of which has the given number of columns.
func neonTile(a *arm, rows, width int, last xreg) {
	sums := make([][]vreg, rows)
	for i := range sums {
		sums[i] = a.vregs(width)
	}
	lanes := func(j, n int) int { // of register j, when the last has n
		if j < width-1 {
			return 4
		}
		return n
	}
	a.body(func() {
		start, begun := a.argument("start"), a.newLabel("begun")
		a.zero(sums[0]...)
		a.ins("CBZ", start, begun)
		a.byCount(last, 4, func(n int) {
			for j, r := range sums[0] {
				a.load(lanes(j, n), r, start, 16*j)
			}
		})
		a.label(begun)
		for _, row := range sums[1:] {
			for j, r := range row {
				a.move(r, sums[0][j])
			}
		}
	})
	a.body(func() { neonTilePrefetch(a, rows) })
	a.body(func() { neonTileSums(a, sums) })
	add, ldadd, added := a.argument("add"), a.argument("ldadd"), a.newLabel("added")
	a.ins("CBZ", add, added)
	a.byCount(last, 4, func(n int) {
		x := a.vregs(width)
		for _, row := range sums {
			for j, r := range row {
				a.load(lanes(j, n), x[j], add, 16*j)
				a.fadd(r, r, x[j])
			}
			a.ins("ADD", ldadd, add)
		}
	})
	a.label(added)
	to, ldc := a.argument("c"), a.argument("ldc")
	a.byCount(last, 4, func(n int) {
		for _, row := range sums {
			for j, r := range row {
				a.store(lanes(j, n), r, to, 16*j)
			}
			a.ins("ADD", ldc, to)
		}
	})
	a.ins("RET")
}

// neonTilePrefetch asks for the cache lines that the sums will meet in the end.
func neonTilePrefetch(a *arm, rows int) {
	to, step := a.argument("c"), a.argument("ldc")
	add, ldadd := a.argument("add"), a.argument("ldadd")
	a.ins("CMP", "$0", add)
	a.ins("CSEL", "EQ", to, add, to)
	a.ins("CSEL", "EQ", step, ldadd, step)
	for range rows {
		a.ins("PRFM", mem(to, 0), "PLDL1KEEP")
		a.ins("ADD", step, to)
	}
}

// panel is where the next row of B lies, and the bytes from one to the next.
type panel struct{ at, ld xreg }

// neonTileSums adds the products of all columns of A and rows of B: with the columns of a packed A as they
// lie; else four columns at a time of rows that are contiguous, and the rest one by one, whatever the layout.
func neonTileSums(a *arm, sums [][]vreg) {
	k, at := a.argument("k"), a.argument("a")
	b := panel{a.argument("b"), a.argument("ldb")}
	row, col := a.argument("row"), a.argument("col")
	packed, single, summed := a.newLabel("packed"), a.newLabel("single"), a.newLabel("summed")
	a.ins("CBZ", k, summed)
	a.ins("CMP", "$4", row)
	a.ins("BEQ", packed)
	rows := make([]xreg, len(sums))
	for i := range rows {
		rows[i] = a.xreg()
		if i == 0 {
			a.ins("MOVD", at, rows[i])
		} else {
			a.ins("ADD", row, rows[i-1], rows[i])
		}
	}
	a.ins("CMP", "$4", col)
	a.ins("BNE", single)
	a.body(func() { neonTileRows(a, sums, rows, k, b) })
	a.ins("CBZ", k, summed)
	a.label(single)
	a.body(func() { neonTileSingle(a, sums, rows, k, b, col) })
	a.ins("B", summed)
	a.label(packed)
	a.body(func() { neonTileColumns(a, sums, k, at, b, col) })
	a.label(summed)
}

// neonTileRows takes four columns of A at a time, and leaves k less than four.
func neonTileRows(a *arm, sums [][]vreg, rows []xreg, k xreg, b panel) {
	as := a.vregs(len(rows))
	turn, rest := a.newLabel("turn"), a.newLabel("rest")
	a.ins("SUBS", "$4", k)
	a.ins("BLT", rest)
	a.loop(turn)
	for i, r := range rows {
		a.ins("FMOVQ.P", "16"+mem(r, 0), as[i].f())
	}
	for lane := range 4 {
		neonTileStep(a, sums, b, func(i int) (vreg, int) { return as[i], lane })
	}
	a.ins("SUBS", "$4", k)
	a.ins("BGE", turn)
	a.label(rest)
	a.ins("ADD", "$4", k)
}

// neonTileSingle takes one column of A at a time, of any layout.
func neonTileSingle(a *arm, sums [][]vreg, rows []xreg, k xreg, b panel, col xreg) {
	as, turn := a.vregs(len(rows)), a.newLabel("turn")
	a.loop(turn)
	for i, r := range rows {
		a.load(1, as[i], r, 0)
		a.ins("ADD", col, r)
	}
	neonTileStep(a, sums, b, func(i int) (vreg, int) { return as[i], 0 })
	a.countDown(k, turn)
}

// neonTileColumns takes one column of A at a time, which is contiguous.
func neonTileColumns(a *arm, sums [][]vreg, k, at xreg, b panel, col xreg) {
	as, turn := a.vregs((len(sums)+3)/4), a.newLabel("turn")
	a.loop(turn)
	for i, r := range as {
		a.load(min(4, len(sums)-4*i), r, at, 16*i)
	}
	a.ins("ADD", col, at)
	neonTileStep(a, sums, b, func(i int) (vreg, int) { return as[i/4], i % 4 })
	a.countDown(k, turn)
}

// neonTileStep adds the products of a column of A, of which row i is a lane of a register, and a row of B.
func neonTileStep(a *arm, sums [][]vreg, b panel, element func(i int) (vreg, int)) {
	a.body(func() {
		bs, width := a.vregs(2), len(sums[0])
		for j := 0; j < width; j += 2 {
			if j+1 < width {
				a.loadPair(bs[0], bs[1], b.at, 16*j)
			} else {
				a.load(4, bs[0], b.at, 16*j)
			}
			for i, row := range sums {
				x, lane := element(i)
				for half, r := range row[j:min(j+2, width)] {
					a.fmlaLane(r, bs[half], x, lane)
				}
			}
		}
	})
	a.ins("ADD", b.ld, b.at)
}
