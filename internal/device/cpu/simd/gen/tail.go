package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tail loads and stores rows of n floats in registers: the last of them has only some of its lanes.
// Lanes beyond the row are loaded as 0 and not stored; their memory is not touched.
type tail struct {
	c    *build.Context
	s    isa
	last int          // index of the last register
	k    reg.Register // AVX-512: mask register
	v    reg.Register // AVX2: a vector, in which the row's lanes have all bits set
}

// newTail is the tail for rows of n floats that need width registers.
func newTail(c *build.Context, s isa, n reg.Register, width int) tail {
	t := tail{c: c, s: s, last: width - 1}
	bits := c.GP64()
	c.MOVQ(operand.U32(uint32(width*s.lanes())), reg.RCX)
	c.SUBQ(n, reg.RCX) // lanes that are missing
	if s.bytes == 64 {
		c.MOVQ(operand.U32(0xffff), bits)
		c.SHRQ(reg.CL, bits)
		k := c.K()
		c.KMOVW(bits.As32(), k)
		t.k = k
		return t
	}
	c.SHLQ(operand.Imm(3), reg.RCX)
	c.MOVQ(operand.I32(-1), bits)
	c.SHRQ(reg.CL, bits)
	bytes, v := c.XMM(), c.YMM()
	c.VMOVQ(bits, bytes)
	c.VPMOVSXBD(bytes, v)
	t.v = v
	return t
}

// load loads register i of a row from m.
func (t tail) load(i int, m operand.Mem, to reg.Register) {
	switch {
	case i < t.last:
		t.c.VMOVUPS(m, to)
	case t.k != nil:
		t.c.VMOVUPS_Z(m, t.k, to)
	default:
		t.c.VMASKMOVPS(m, t.v, to)
	}
}

// store stores register i of a row to m.
func (t tail) store(i int, from reg.Register, m operand.Mem) {
	switch {
	case i < t.last:
		t.c.VMOVUPS(from, m)
	case t.k != nil:
		t.c.VMOVUPS(from, t.k, m)
	default:
		t.c.VMASKMOVPS(from, t.v, m)
	}
}
