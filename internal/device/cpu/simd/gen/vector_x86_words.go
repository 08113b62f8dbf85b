package main

import (
	"slices"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// begin makes what the program needs from the start.
func (l *x86) begin() {
	pairs := slices.ContainsFunc(l.k.code, func(i instruction) bool { return i.op == opPairs })
	if pairs && l.s.bytes == 64 {
		bits, m := l.GP32(), l.K()
		l.MOVL(operand.U32(0xaaaa), bits)
		l.KMOVW(bits, m)
		l.odd = m
	}
}

// words writes what works on lanes as uint32.
func (l *x86) words(i instruction) {
	switch i.op {
	case opPattern:
		l.VMOVUPS(l.data.pattern(i.lanes), l.result(i.dst))
	case opHighWord:
		l.VMOVSHDUP(l.reg(i.args[0]), l.result(i.dst))
	case opXor3:
		l.xor3(i)
	case opAtLeast:
		l.atLeast(i)
	case opPairs:
		l.pairs(i)
	}
}

func (l *x86) xor3(i instruction) {
	a, b, c := i.args[0], i.args[1], i.args[2]
	if l.s.bytes == 32 {
		both := l.vec()
		l.VXORPS(l.reg(a), l.reg(b), both)
		xor := form{plain: (*build.Context).VXORPS}
		l.apply(xor, c, both, l.result(i.dst))
		return
	}
	if l.mayReplace(a, i) {
		l.replace(a, i)
	} else {
		l.move(l.result(i.dst), a)
	}
	const anyOdd = operand.U8(0x96)
	l.VPTERNLOGD(anyOdd, l.reg(b), l.reg(c), l.regs[i.dst])
}

// atLeast in AVX2, which compares no unsigned numbers, asks whether the larger one is a.
func (l *x86) atLeast(i instruction) {
	a, b := l.reg(i.args[0]), l.reg(i.args[1])
	if l.s.bytes == 64 {
		const notBelow = operand.U8(5)
		m := l.K()
		l.masks[mask(i.dst)] = m
		l.VPCMPUD(notBelow, b, a, m)
		return
	}
	larger, m := l.vec(), l.vec()
	l.masks[mask(i.dst)] = m
	l.VPMAXUD(a, b, larger)
	l.VPCMPEQD(a, larger, m)
}

func (l *x86) pairs(i instruction) {
	a, b := i.args[0], l.reg(i.args[1])
	if l.s.bytes == 32 {
		twice := l.vec()
		l.VMOVSLDUP(b, twice)
		l.VBLENDPS(operand.U8(0xaa), twice, l.reg(a), l.result(i.dst))
		return
	}
	if l.mayReplace(a, i) {
		l.replace(a, i)
	} else {
		l.move(l.result(i.dst), a)
	}
	l.VMOVSLDUP(b, l.odd, l.regs[i.dst])
}

// pattern is where the given words lie.
func (d *dataX86) pattern(words []uint32) operand.Mem {
	at := d.size
	for _, w := range words {
		d.c.AddDatum(d.size, operand.U32(w))
		d.size += 4
	}
	return d.base.Offset(at)
}
