package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles writes the kernels of products.go: a tile of two registers' width and 1 to 14 rows (AVX-512) or
// 1 to 6 rows (AVX2), as many as the registers hold with two for B and two for A.
func tiles(c *build.Context) {
	for rows := 1; rows <= 14; rows++ {
		tile(c, avx512, rows)
	}
	for rows := 1; rows <= 6; rows++ {
		tile(c, avx2, rows)
	}
}

const tileRegisters = 2 // columns of a tile, in registers

func tile(c *build.Context, s isa, rows int) {
	function(c, fmt.Sprintf("tile%sx%d", s.suffix, rows),
		fmt.Sprintf("is a Tile of %d rows and %d columns.", rows, tileRegisters*s.lanes()),
		"func(k int, a *float32, row, col int, b, c *float32, ldc int, init *float32, ldinit int)")
	k, b := argument(c, "k"), argument(c, "b")
	sums := tileBegin(c, s, rows)
	element, next := tileRows(c, rows)

	bs, as := s.vecs(c, tileRegisters), s.vecs(c, 2)
	body := func(offset int) {
		for j, r := range bs {
			c.VMOVUPS(at(b, offset+j*s.bytes), r)
		}
		for i := range rows {
			c.VBROADCASTSS(element(i), as[i%2])
			for j, r := range bs {
				c.VFMADD231PS(as[i%2], r, sums[i][j])
			}
		}
		next()
	}
	const unroll = 4
	width := tileRegisters * s.bytes
	turns := c.GP64()
	c.MOVQ(k, turns)
	c.SHRQ(operand.Imm(2), turns)
	c.JZ(operand.LabelRef("rest"))
	align(c)
	c.Label("turn")
	for u := range unroll {
		body(u * width)
	}
	c.ADDQ(operand.U32(unroll*width), b)
	c.DECQ(turns)
	c.JNZ(operand.LabelRef("turn"))
	c.Label("rest")
	c.ANDQ(operand.Imm(unroll-1), k)
	c.JZ(operand.LabelRef("done"))
	c.Label("one")
	body(0)
	c.ADDQ(operand.U32(uint32(width)), b)
	c.DECQ(k)
	c.JNZ(operand.LabelRef("one"))
	c.Label("done")
	to, ldc := argument(c, "c"), argument(c, "ldc")
	for i, row := range sums {
		for j, r := range row {
			c.VMOVUPS(r, at(to, j*s.bytes))
		}
		if i < rows-1 {
			c.ADDQ(ldc, to)
		}
	}
	c.VZEROUPPER()
	c.RET()
}

// tileBegin loads the first values of the sums and asks for C's cache lines.
func tileBegin(c *build.Context, s isa, rows int) [][]reg.VecVirtual {
	from, ldinit := argument(c, "init"), argument(c, "ldinit")
	to, ldc := argument(c, "c"), argument(c, "ldc")
	sums := make([][]reg.VecVirtual, rows)
	for i := range sums {
		sums[i] = s.vecs(c, tileRegisters)
		for j, r := range sums[i] {
			c.VMOVUPS(at(from, j*s.bytes), r)
		}
		c.PREFETCHT0(at(to, 0))
		c.PREFETCHT0(at(to, tileRegisters*s.bytes-1))
		if i < rows-1 {
			c.ADDQ(ldinit, from)
			c.ADDQ(ldc, to)
		}
	}
	return sums
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
