package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles writes the kernels Tile of products.go: two registers wide and 1 to 14 rows (AVX-512) or 1 to 6
// rows (AVX2), as many as the registers hold with two for B and two for A.
func tiles(c *build.Context) {
	for rows := 1; rows <= 14; rows++ {
		tile(c, avx512, rows)
	}
	for rows := 1; rows <= 6; rows++ {
		tile(c, avx2, rows)
	}
}

const tileRegisters = 2 // columns of a whole tile, in registers

// tile writes a kernel with two bodies: one for whole tiles, and one that leaves the second register of
// each row out.
func tile(c *build.Context, s isa, rows int) {
	function(c, fmt.Sprintf("tile%sx%d", s.suffix, rows),
		fmt.Sprintf("is a Tile of %d rows and up to %d columns.", rows, tileRegisters*s.lanes()),
		"func(k int, a *float32, row, col int, b *float32, ldb, cols int, c *float32, ldc int, start, add *float32, ldadd int)")
	c.CMPQ(argument(c, "cols"), operand.Imm(uint64(s.lanes())))
	c.JLE(operand.LabelRef("narrow"))
	tileBody(c, s, rows, tileRegisters, "wide")
	c.Label("narrow")
	tileBody(c, s, rows, 1, "narrow")
}

func tileBody(c *build.Context, s isa, rows, width int, name string) {
	label := func(what string) string { return name + "_" + what }
	last := newTail(c, s, argument(c, "cols"), width)
	sums := tileBegin(c, s, rows, width, last, label)
	tilePrefetch(c, s, rows, width, label)
	tileSums(c, s, sums, label)
	tileAdd(c, s, sums, last, label)
	if s.bytes == 32 { // whole tiles apart: some processors take long for masked stores
		c.CMPQ(argument(c, "cols"), operand.Imm(uint64(width*s.lanes())))
		c.JL(operand.LabelRef(label("part")))
		tileStore(c, s, sums, func(_ int, r reg.Register, m operand.Mem) { c.VMOVUPS(r, m) })
		c.Label(label("part"))
	}
	tileStore(c, s, sums, last.store)
}

func tileStore(c *build.Context, s isa, sums [][]reg.VecVirtual, store func(i int, r reg.Register, m operand.Mem)) {
	to, ldc := argument(c, "c"), argument(c, "ldc")
	for i, row := range sums {
		for j, r := range row {
			store(j, r, at(to, j*s.bytes))
		}
		if i < len(sums)-1 {
			c.ADDQ(ldc, to)
		}
	}
	c.VZEROUPPER()
	c.RET()
}

// tileBegin sets every row of the sums to start, or to zero.
func tileBegin(c *build.Context, s isa, rows, width int, last tail, label func(string) string) [][]reg.VecVirtual {
	sums := make([][]reg.VecVirtual, rows)
	for i := range sums {
		sums[i] = s.vecs(c, width)
	}
	start := argument(c, "start")
	for _, r := range sums[0] {
		c.VXORPS(r, r, r)
	}
	c.TESTQ(start, start)
	c.JZ(operand.LabelRef(label("begun")))
	for j, r := range sums[0] {
		last.load(j, at(start, j*s.bytes), r)
	}
	c.Label(label("begun"))
	for _, row := range sums[1:] {
		for j, r := range row {
			c.VMOVAPS(sums[0][j], r)
		}
	}
	return sums
}

// tilePrefetch asks for the cache lines that the sums will meet in the end.
func tilePrefetch(c *build.Context, s isa, rows, width int, label func(string) string) {
	to, step := argument(c, "c"), argument(c, "ldc")
	add := argument(c, "add")
	c.TESTQ(add, add)
	c.JZ(operand.LabelRef(label("prefetch")))
	c.MOVQ(add, to)
	c.Load(c.Param("ldadd"), step)
	c.Label(label("prefetch"))
	for i := range rows {
		for j := 0; j < width*s.bytes; j += 64 {
			c.PREFETCHT2(at(to, j))
		}
		if i < rows-1 {
			c.ADDQ(step, to)
		}
	}
}

// tileSums adds the products of all columns of A and rows of B.
func tileSums(c *build.Context, s isa, sums [][]reg.VecVirtual, label func(string) string) {
	k, b, ldb := argument(c, "k"), argument(c, "b"), argument(c, "ldb")
	element, next := tileRows(c, len(sums))
	bs, as := s.vecs(c, len(sums[0])), s.vecs(c, 2)
	ahead := c.GP64() // rows of B that are not packed lie too far apart for the processor to see them come
	c.MOVQ(ldb, ahead)
	c.SHLQ(operand.Imm(4), ahead)
	step := func() {
		for j, r := range bs {
			c.VMOVUPS(at(b, j*s.bytes), r)
			if j*s.bytes%64 == 0 {
				c.PREFETCHT0(operand.Mem{Base: b, Index: ahead, Scale: 1, Disp: j * s.bytes})
			}
		}
		c.ADDQ(ldb, b)
		for i, row := range sums {
			c.VBROADCASTSS(element(i), as[i%2])
			for j, r := range bs {
				c.VFMADD231PS(as[i%2], r, row[j])
			}
		}
		next()
	}
	const unroll = 4
	turns := c.GP64()
	c.MOVQ(k, turns)
	c.SHRQ(operand.Imm(2), turns)
	c.JZ(operand.LabelRef(label("rest")))
	align(c)
	c.Label(label("turn"))
	for range unroll {
		step()
	}
	c.DECQ(turns)
	c.JNZ(operand.LabelRef(label("turn")))
	c.Label(label("rest"))
	c.ANDQ(operand.Imm(unroll-1), k)
	c.JZ(operand.LabelRef(label("summed")))
	c.Label(label("one"))
	step()
	c.DECQ(k)
	c.JNZ(operand.LabelRef(label("one")))
	c.Label(label("summed"))
}

// tileRows returns where row i of A's present column lies, four rows to a pointer, and the step to the
// next column.
func tileRows(c *build.Context, rows int) (element func(i int) operand.Mem, next func()) {
	row, col := argument(c, "row"), argument(c, "col")
	three := c.GP64()
	c.LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, three)
	bases := []reg.GPVirtual{argument(c, "a")}
	for i := 4; i < rows; i += 4 {
		p := c.GP64()
		c.LEAQ(operand.Mem{Base: bases[len(bases)-1], Index: row, Scale: 4}, p)
		bases = append(bases, p)
	}
	element = func(i int) operand.Mem {
		base := bases[i/4]
		switch i % 4 {
		case 1:
			return operand.Mem{Base: base, Index: row, Scale: 1}
		case 2:
			return operand.Mem{Base: base, Index: row, Scale: 2}
		case 3:
			return operand.Mem{Base: base, Index: three, Scale: 1}
		}
		return operand.Mem{Base: base}
	}
	return element, func() {
		for _, p := range bases {
			c.ADDQ(col, p)
		}
	}
}

// tileAdd adds the rows of add to the sums, if there are any.
func tileAdd(c *build.Context, s isa, sums [][]reg.VecVirtual, last tail, label func(string) string) {
	add, ldadd := argument(c, "add"), argument(c, "ldadd")
	c.TESTQ(add, add)
	c.JZ(operand.LabelRef(label("added")))
	x := s.vec(c)
	for i, row := range sums {
		for j, r := range row {
			last.load(j, at(add, j*s.bytes), x)
			c.VADDPS(x, r, r)
		}
		if i < len(sums)-1 {
			c.ADDQ(ldadd, add)
		}
	}
	c.Label(label("added"))
}
