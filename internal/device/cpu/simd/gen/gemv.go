package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemvs writes the kernels DotRows and AddRows of products.go.
func gemvs(c *build.Context) {
	for _, s := range []isa{avx512, avx2} {
		dotRows(c, s)
		addRows(c, s)
	}
}

// rowsAtOnce is how many rows of the matrix the kernels read at the same time.
const rowsAtOnce = 8

// dotRows reads eight rows at a time; where fewer are left, the last one is read again and the results
// are not stored, so that a row's result does not depend on its place.
func dotRows(c *build.Context, s isa) {
	function(c, "dotRows"+s.suffix, "multiplies a matrix by a vector; see Products.DotRows.",
		"func(n, k int, x, w *float32, ldw int, y *float32)")
	n, w, x := argument(c, "n"), argument(c, "w"), argument(c, "x")
	c.Label("rows")
	rows, ahead := rowPointers(c, w, n)
	sums := cleared(c, s, rowsAtOnce)
	k, offset := argument(c, "k"), c.GP64()
	c.XORQ(offset, offset)
	c.SUBQ(operand.Imm(uint64(s.lanes())), k)
	c.JL(operand.LabelRef("rest"))
	align(c)
	c.Label("turn")
	v := s.vec(c)
	c.VMOVUPS(indexed(x, offset), v)
	for i, r := range rows {
		c.VFMADD231PS(indexed(r, offset), v, sums[i])
		c.PREFETCHT0(indexed(r, ahead))
	}
	c.ADDQ(operand.Imm(uint64(s.bytes)), offset)
	c.ADDQ(operand.Imm(uint64(s.bytes)), ahead)
	c.SUBQ(operand.Imm(uint64(s.lanes())), k)
	c.JGE(operand.LabelRef("turn"))
	c.Label("rest")
	c.ADDQ(operand.Imm(uint64(s.lanes())), k)
	c.JZ(operand.LabelRef("summed"))
	rest, u := newTail(c, s, k, 1), s.vec(c)
	rest.load(0, indexed(x, offset), v)
	for i, r := range rows {
		rest.load(0, indexed(r, offset), u)
		c.VFMADD231PS(u, v, sums[i])
	}
	c.Label("summed")
	storeSums(c, s, sums, n)
	c.Load(c.Param("ldw"), ahead)
	c.LEAQ(operand.Mem{Base: w, Index: ahead, Scale: rowsAtOnce}, w)
	c.SUBQ(operand.Imm(rowsAtOnce), n)
	c.JG(operand.LabelRef("rows"))
	c.VZEROUPPER()
	c.RET()
}

// rowPointers returns pointers to the first eight of n rows at w, the last one again where they are
// fewer, and the distance in bytes from each to the row that takes its place next.
func rowPointers(c *build.Context, w, n reg.GPVirtual) (rows []reg.GPVirtual, next reg.GPVirtual) {
	step, none, ldw := c.GP64(), c.GP64(), argument(c, "ldw")
	c.XORQ(none, none)
	rows = make([]reg.GPVirtual, rowsAtOnce)
	for i := range rows {
		rows[i] = c.GP64()
		if i == 0 {
			c.MOVQ(w, rows[i])
			continue
		}
		c.MOVQ(ldw, step)
		c.CMPQ(n, operand.Imm(uint64(i)))
		c.CMOVQLE(none, step)
		c.LEAQ(operand.Mem{Base: rows[i-1], Index: step, Scale: 1}, rows[i])
	}
	next = c.GP64()
	c.MOVQ(ldw, next)
	c.SHLQ(operand.Imm(3), next)
	return rows, next
}

// storeSums adds up the lanes of each register and stores the first n results, at most eight, at y,
// which moves on.
func storeSums(c *build.Context, s isa, sums []reg.VecVirtual, n reg.GPVirtual) {
	half := make([]reg.VecVirtual, len(sums))
	for i, sum := range sums {
		half[i] = sum
		if s.bytes == 64 {
			half[i] = c.YMM()
			c.VEXTRACTF64X4(operand.Imm(1), sum, half[i])
			c.VADDPS(sum.AsY(), half[i], half[i])
		}
	}
	for len(half) > 2 { // pairs of neighbours, first in each half
		for i := range len(half) / 2 {
			c.VHADDPS(half[2*i+1], half[2*i], half[i])
		}
		half = half[:len(half)/2]
	}
	low, high := c.YMM(), c.YMM()
	c.VPERM2F128(operand.Imm(0x20), half[1], half[0], low)
	c.VPERM2F128(operand.Imm(0x31), half[1], half[0], high)
	c.VADDPS(high, low, low)

	y, have := argument(c, "y"), c.GP64()
	c.MOVQ(operand.U32(rowsAtOnce), have)
	c.CMPQ(n, have)
	c.CMOVQLT(n, have)
	newTail(c, avx2, have, 1).store(0, low, at(y, 0))
	c.ADDQ(operand.Imm(4*rowsAtOnce), y)
	c.Store(y, c.Param("y"))
}

// addRows adds eight rows in one pass over y, and those that are left one by one: in the order of the rows.
func addRows(c *build.Context, s isa) {
	function(c, "addRows"+s.suffix, "adds multiples of rows; see Products.AddRows.",
		"func(k, n int, x, w *float32, ldw int, y *float32)")
	k, w, x := argument(c, "k"), argument(c, "w"), argument(c, "x")
	c.Label("eight")
	c.CMPQ(k, operand.Imm(rowsAtOnce))
	c.JL(operand.LabelRef("few"))
	addRowsAtOnce(c, s, x, w, rowsAtOnce, "eight")
	c.SUBQ(operand.Imm(rowsAtOnce), k)
	c.JMP(operand.LabelRef("eight"))
	c.Label("few")
	c.TESTQ(k, k)
	c.JZ(operand.LabelRef("done"))
	c.Label("one")
	addRowsAtOnce(c, s, x, w, 1, "one")
	c.DECQ(k)
	c.JNZ(operand.LabelRef("one"))
	c.Label("done")
	c.VZEROUPPER()
	c.RET()
}

// addRowsAtOnce adds the next rows and moves x and w behind them.
func addRowsAtOnce(c *build.Context, s isa, x, w reg.GPVirtual, rows int, name string) {
	factors, row := s.vecs(c, rows), make([]reg.GPVirtual, rows)
	ldw := argument(c, "ldw")
	for i := range factors {
		c.VBROADCASTSS(at(x, 4*i), factors[i])
		row[i] = c.GP64()
		c.MOVQ(w, row[i])
		c.ADDQ(ldw, w)
	}
	c.ADDQ(operand.Imm(uint64(4*rows)), x)
	ahead, offset := c.GP64(), c.GP64()
	c.MOVQ(ldw, ahead)
	c.SHLQ(operand.Imm(3), ahead)
	c.XORQ(offset, offset)
	n, y, v := argument(c, "n"), argument(c, "y"), s.vec(c)
	c.SUBQ(operand.Imm(uint64(s.lanes())), n)
	c.JL(operand.LabelRef(name + "_rest"))
	align(c)
	c.Label(name + "_turn")
	c.VMOVUPS(indexed(y, offset), v)
	for i, r := range row {
		c.VFMADD231PS(indexed(r, offset), factors[i], v)
		c.PREFETCHT0(indexed(r, ahead))
	}
	c.VMOVUPS(v, indexed(y, offset))
	c.ADDQ(operand.Imm(uint64(s.bytes)), offset)
	c.ADDQ(operand.Imm(uint64(s.bytes)), ahead)
	c.SUBQ(operand.Imm(uint64(s.lanes())), n)
	c.JGE(operand.LabelRef(name + "_turn"))
	c.Label(name + "_rest")
	c.ADDQ(operand.Imm(uint64(s.lanes())), n)
	c.JZ(operand.LabelRef(name + "_added"))
	rest, u := newTail(c, s, n, 1), s.vec(c)
	rest.load(0, indexed(y, offset), v)
	for i, r := range row {
		rest.load(0, indexed(r, offset), u)
		c.VFMADD231PS(u, factors[i], v)
	}
	rest.store(0, v, indexed(y, offset))
	c.Label(name + "_added")
}

// indexed is the memory at base plus an offset in a register.
func indexed(base, offset reg.Register) operand.Mem {
	return operand.Mem{Base: base, Index: offset, Scale: 1}
}
