package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packs writes the kernels PackRows and PackColumns of products.go.
func packs(c *build.Context) {
	for _, s := range []isa{avx512, avx2} {
		packRows(c, s)
		packColumns(c, s)
	}
}

const packSignature = "func(k int, src *float32, ld, cols int, dst *float32, ldd int)"

func packRows(c *build.Context, s isa) {
	function(c, "packRows"+s.suffix, "copies rows into a panel; see Products.PackRows.", packSignature)
	c.CMPQ(argument(c, "cols"), operand.Imm(uint64(s.lanes())))
	c.JLE(operand.LabelRef("narrow"))
	packRowsOf(c, s, tileRegisters, "wide")
	c.Label("narrow")
	packRowsOf(c, s, 1, "narrow")
}

// packRowsOf is the kernel for rows that need width registers.
func packRowsOf(c *build.Context, s isa, width int, label string) {
	last := newTail(c, s, argument(c, "cols"), width)
	k, src, ld := argument(c, "k"), argument(c, "src"), argument(c, "ld")
	dst, ldd := argument(c, "dst"), argument(c, "ldd")
	x := s.vecs(c, width)
	c.Label(label + "_row")
	for j, r := range x {
		last.load(j, at(src, j*s.bytes), r)
	}
	for j, r := range x {
		c.VMOVUPS(r, at(dst, j*s.bytes))
	}
	c.ADDQ(ld, src)
	c.ADDQ(ldd, dst)
	c.DECQ(k)
	c.JNZ(operand.LabelRef(label + "_row"))
	c.VZEROUPPER()
	c.RET()
}

// packColumns transposes squares of as many rows and columns as a register has lanes.
func packColumns(c *build.Context, s isa) {
	function(c, "packColumns"+s.suffix, "copies columns into a panel; see Products.PackColumns.", packSignature)
	n := uint64(s.lanes())
	cols, src, dst := argument(c, "cols"), argument(c, "src"), argument(c, "dst")
	ld, ldd := argument(c, "ld"), argument(c, "ldd")
	k, from, to, have := c.GP64(), c.GP64(), c.GP64(), c.GP64()

	c.Label("columns")
	c.Load(c.Param("k"), k)
	c.MOVQ(src, from)
	c.MOVQ(dst, to)
	c.Label("square")
	c.MOVQ(operand.U32(uint32(n)), have)
	c.CMPQ(k, have)
	c.CMOVQLT(k, have)
	square := packLoad(c, s, from, ld, cols, have)
	if s.bytes == 64 {
		square = transpose16(c, square)
	} else {
		square = transpose8(c, square)
	}
	packStore(c, square, to, ldd, have)
	c.ADDQ(operand.Imm(uint64(s.bytes)), from)
	c.SUBQ(operand.Imm(n), k)
	c.JG(operand.LabelRef("square"))
	c.ADDQ(operand.Imm(uint64(s.bytes)), dst)
	for range 4 {
		c.LEAQ(operand.Mem{Base: src, Index: ld, Scale: uint8(n / 4)}, src)
	}
	c.SUBQ(operand.Imm(n), cols)
	c.JG(operand.LabelRef("columns"))
	c.VZEROUPPER()
	c.RET()
}

// packLoad loads the first have floats of the next cols rows; registers without a row are 0.
func packLoad(c *build.Context, s isa, from, ld, cols, have reg.GPVirtual) []reg.VecVirtual {
	first := newTail(c, s, have, 1)
	at0 := c.GP64()
	c.MOVQ(from, at0)
	rows := cleared(c, s, s.lanes())
	for i, r := range rows {
		if i > 0 {
			c.CMPQ(cols, operand.Imm(uint64(i)))
			c.JLE(operand.LabelRef("loaded"))
			c.ADDQ(ld, at0)
		}
		first.load(0, at(at0, 0), r)
	}
	c.Label("loaded")
	return rows
}

// packStore stores the first have registers.
func packStore(c *build.Context, rows []reg.VecVirtual, to, ldd, have reg.GPVirtual) {
	for i, r := range rows {
		if i > 0 {
			c.CMPQ(have, operand.Imm(uint64(i)))
			c.JLE(operand.LabelRef("stored"))
		}
		c.VMOVUPS(r, at(to, 0))
		c.ADDQ(ldd, to)
	}
	c.Label("stored")
}

// transpose4 transposes four registers, each quarter of four floats (in AVX2 half) by itself.
func transpose4(c *build.Context, s isa, x []reg.VecVirtual) []reg.VecVirtual {
	t, y := s.vecs(c, 4), s.vecs(c, 4)
	for i := 0; i < 4; i += 2 {
		c.VUNPCKLPS(x[i+1], x[i], t[i])
		c.VUNPCKHPS(x[i+1], x[i], t[i+1])
	}
	c.VUNPCKLPD(t[2], t[0], y[0])
	c.VUNPCKHPD(t[2], t[0], y[1])
	c.VUNPCKLPD(t[3], t[1], y[2])
	c.VUNPCKHPD(t[3], t[1], y[3])
	return y
}

func transpose8(c *build.Context, x []reg.VecVirtual) []reg.VecVirtual {
	upper, lower := transpose4(c, avx2, x[:4]), transpose4(c, avx2, x[4:])
	y := avx2.vecs(c, 8)
	for i := range 4 {
		c.VPERM2F128(operand.Imm(0x20), lower[i], upper[i], y[i])
		c.VPERM2F128(operand.Imm(0x31), lower[i], upper[i], y[4+i])
	}
	return y
}

func transpose16(c *build.Context, x []reg.VecVirtual) []reg.VecVirtual {
	var group [4][]reg.VecVirtual // column 4*quarter+i of rows 4*g and on, at [g][i]
	for g := range group {
		group[g] = transpose4(c, avx512, x[4*g:4*g+4])
	}
	y := make([]reg.VecVirtual, 16)
	for i := range 4 {
		t := avx512.vecs(c, 4)
		for half := range 2 {
			a, b := group[2*half][i], group[2*half+1][i]
			c.VSHUFF32X4(operand.Imm(0x88), b, a, t[2*half])   // quarters 0 and 2 of both
			c.VSHUFF32X4(operand.Imm(0xdd), b, a, t[2*half+1]) // quarters 1 and 3
		}
		for quarter, order := range []uint64{0x88, 0x88, 0xdd, 0xdd} {
			y[4*quarter+i] = c.ZMM()
			c.VSHUFF32X4(operand.Imm(order), t[2+quarter%2], t[quarter%2], y[4*quarter+i])
		}
	}
	return y
}
