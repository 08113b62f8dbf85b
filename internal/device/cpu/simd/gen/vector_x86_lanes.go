package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// compare sets a mask from the first operand, predicate, second operand.
func (l *x86) compare(predicate operand.Op, i instruction) {
	with := func(f func(*build.Context, ...operand.Op)) func(*build.Context, ...operand.Op) {
		return func(c *build.Context, ops ...operand.Op) { f(c, append([]operand.Op{predicate}, ops...)...) }
	}
	var m reg.Register = l.K()
	if l.s.bytes == 32 {
		m = l.vec()
	}
	l.masks[mask(i.dst)] = m
	f := form{plain: with((*build.Context).VCMPPS), spread: with((*build.Context).VCMPPS_BCST)}
	l.apply(f, i.args[1], l.reg(i.args[0]), m)
}

func (l *x86) choose(i instruction) {
	l.blend(l.masks[i.mask], i.args[0], i.args[1], l.result(i.dst))
}

func (l *x86) where(i instruction) {
	v, m, to := l.reg(i.args[0]), l.masks[i.mask], l.result(i.dst)
	if l.s.bytes == 64 {
		l.VMOVAPS_Z(v, m, to)
		return
	}
	l.VANDPS(m, v, to)
}

// active keeps the lanes that have an element.
func (l *x86) active(i instruction) { l.blend(l.only, i.args[0], i.args[1], l.result(i.dst)) }

// blend takes the lanes of a where m is set, else those of b.
func (l *x86) blend(m reg.Register, a, b value, to reg.VecVirtual) {
	if l.s.bytes == 32 {
		l.VBLENDVPS(m, l.reg(a), l.reg(b), to)
		return
	}
	f := form{plain: (*build.Context).VBLENDMPS, spread: (*build.Context).VBLENDMPS_BCST}
	l.apply(f, a, l.reg(b), m, to)
}

// reduce joins lanes by exchanging halves, then halves of halves, of the vector.
func (l *x86) reduce(i instruction) {
	join := map[opcode]func(*build.Context, ...operand.Op){
		opSum: (*build.Context).VADDPS, opLargest: (*build.Context).VMAXPS, opSumWide: (*build.Context).VADDPD,
	}[i.op]
	v := l.reg(i.args[0])
	step := func(exchange func(v, other reg.VecVirtual)) {
		other, joined := l.vec(), l.vec()
		exchange(v, other)
		join(l.Context, other, v, joined)
		v = joined
	}
	if l.s.bytes == 64 {
		step(func(v, o reg.VecVirtual) { l.VSHUFF64X2(operand.U8(0x4e), v, v, o) })
		step(func(v, o reg.VecVirtual) { l.VSHUFF64X2(operand.U8(0xb1), v, v, o) })
	} else {
		step(func(v, o reg.VecVirtual) { l.VPERM2F128(operand.U8(0x01), v, v, o) })
	}
	step(func(v, o reg.VecVirtual) { l.VPERMILPS(operand.U8(0x4e), v, o) })
	if i.op != opSumWide {
		step(func(v, o reg.VecVirtual) { l.VPERMILPS(operand.U8(0xb1), v, o) })
	}
	l.VMOVAPS(v, l.result(i.dst))
}

func (l *x86) wide(i instruction) {
	v, to := l.reg(i.args[0]), l.result(i.dst)
	var half operand.Op
	switch {
	case l.s.bytes == 64 && i.op == opWideHigh:
		y := l.YMM()
		l.VEXTRACTF64X4(operand.U8(1), v, y)
		half = y
	case l.s.bytes == 64:
		half = v.AsY()
	case i.op == opWideHigh:
		x := l.XMM()
		l.VEXTRACTF128(operand.U8(1), v, x)
		half = x
	default:
		half = v.AsX()
	}
	l.VCVTPS2PD(half, to)
}
