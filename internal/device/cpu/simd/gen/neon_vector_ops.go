package main

import (
	"fmt"
	"slices"
)

// formNEON is an instruction d = n op m, or d = op n.
type formNEON struct {
	name string
	bits uint32
}

var binaryNEON = map[opcode]formNEON{
	opAdd: {"fadd", 0x4e20d400},
	opSub: {"fsub", 0x4ea0d400},
	opMul: {"fmul", 0x6e20dc00},
	opDiv: {"fdiv", 0x6e20fc00},
}

// lower writes one instruction.
func (l *neonVector) lower(c instruction) {
	if f, ok := binaryNEON[c.op]; ok {
		n, m := l.reg(c.args[0]), l.reg(c.args[1])
		l.three(f.name, f.bits, l.result(c.dst), n, m)
		return
	}
	switch c.op {
	case opLoop, opEndLoop, opTimes, opEndTimes:
		l.control(c)
	case opParameter, opCopy, opAdvance, opSkip:
		l.integer(c)
	case opLoad, opStore, opLoadOne, opStoreOne, opArgument, opResult, opResultWide:
		l.memory(c)
	case opHold:
		l.hold(c.imm)
	case opVariable, opSet:
		l.copyTo(l.result(c.dst), c.args[0])
	case opActive:
		l.active(c)
	case opAnd:
		n, m := l.reg(c.args[0]), l.reg(c.args[1])
		l.ins("VAND", m.b16(), n.b16(), l.result(c.dst).b16())
	case opFMA, opFMS, opFNMA, opFMAWide:
		l.fused(c)
	case opSqrt:
		n := l.reg(c.args[0])
		l.two("fsqrt", 0x6ea1f800, l.result(c.dst), n)
	case opScale2:
		l.scale2(c)
	case opLess, opLessEqual, opNotLess:
		l.compare(c)
	case opMin:
		l.extreme(c, "fmin", 0x4ea0f400)
	case opMax:
		l.extreme(c, "fmax", 0x4e20f400)
	case opChoose:
		m := l.masks[value(c.mask)]
		a, b := l.reg(c.args[0]), l.reg(c.args[1])
		if m.inverted {
			a, b = b, a
		}
		l.blend(l.result(c.dst), m.v, a, b)
	case opWhere:
		l.where(c)
	case opSum, opLargest:
		l.reduce(c)
	case opWideLow, opWideHigh, opAddWide, opSumWide:
		l.wide(c)
	case opPattern, opAddInt, opMulEven, opHighWord, opXor3, opAtLeast, opPairs, opLowPairs, opHighPairs:
		l.words(c)
	default:
		panic(fmt.Sprintf("no instruction for opcode %d", c.op))
	}
}

// integer writes what works on general registers.
func (l *neonVector) integer(c instruction) {
	switch c.op {
	case opParameter:
		l.gps[c.to] = l.argument(c.name)
	case opCopy:
		l.gps[c.to] = l.xreg()
		l.ins("MOVD", l.gps[c.by], l.gps[c.to])
	case opAdvance:
		l.ins("ADD", l.gps[c.by], l.gps[c.to])
	case opSkip:
		l.ins("ADD", immediate(c.imm), l.gps[c.to])
	}
}

// memory writes loads and stores.
func (l *neonVector) memory(c instruction) {
	switch c.op {
	case opArgument:
		at := l.element(c.name, c.imm)
		if r, ok := l.args[at]; ok {
			l.regs[c.dst], l.held = r, append(l.held, c.dst)
		} else {
			l.loadArgument(l.result(c.dst), at)
		}
	case opResult:
		l.ins("FMOVS", l.reg(c.args[0]).f(), l.returned(c.name))
	case opResultWide:
		l.ins("FMOVD", l.reg(c.args[0]).f(), l.returned(c.name))
	case opLoadOne:
		l.load(1, l.result(c.dst), l.gps[c.by], c.imm)
		l.spread(l.result(c.dst))
	case opStoreOne:
		l.store(1, l.reg(c.args[0]), l.gps[c.to], c.imm)
	case opLoad:
		l.load(l.lanes, l.result(c.dst), l.gps[c.by], c.imm)
	case opStore:
		l.store(l.lanes, l.reg(c.args[0]), l.gps[c.to], c.imm)
	}
}

// active keeps the lanes that have an element.
func (l *neonVector) active(c instruction) {
	a, b := l.reg(c.args[0]), l.reg(c.args[1])
	m, lanes := l.temp(), [4]uint32{}
	for i := range l.lanes {
		lanes[i] = 1<<32 - 1
	}
	l.loadData(m, lanes)
	l.blend(l.result(c.dst), m, a, b)
}

// blend sets to, which may be one of the others, to the lanes of n where m is set, else to those of o.
func (l *neonVector) blend(to, m, n, o vreg) {
	switch to {
	case n:
		l.ins("VBIF", m.b16(), o.b16(), to.b16())
	case o:
		l.ins("VBIT", m.b16(), n.b16(), to.b16())
	default:
		l.move(to, m)
		l.ins("VBSL", o.b16(), n.b16(), to.b16())
	}
}

// extreme takes the second operand where the first is NaN: only a constant first one has an instruction for that.
func (l *neonVector) extreme(c instruction, name string, bits uint32) {
	n, m := l.reg(c.args[0]), l.reg(c.args[1])
	if _, constant := l.k.constants[c.args[0]]; constant {
		l.three(name, bits, l.result(c.dst), n, m)
		return
	}
	first, larger, smaller := l.temp(), n, m
	if c.op == opMin {
		larger, smaller = m, n
	}
	l.three("fcmgt", 0x6ea0e400, first, larger, smaller)
	l.blend(l.result(c.dst), first, n, m)
}

// where clears the lanes where the mask says no.
func (l *neonVector) where(c instruction) {
	n, m, to := l.reg(c.args[0]), l.masks[value(c.mask)], l.result(c.dst)
	if m.inverted {
		l.word(0x4e601c00|uint32(m.v)<<16|uint32(n)<<5|uint32(to), "bic v%d.16b, v%d.16b, v%d.16b", to, n, m.v)
		return
	}
	l.ins("VAND", m.v.b16(), n.b16(), to.b16())
}

// compare makes a mask.
func (l *neonVector) compare(c instruction) {
	n, m := l.reg(c.args[0]), l.reg(c.args[1])
	to := l.vreg()
	greater := func(or string, bits uint32) { l.three(or, bits, to, m, n) }
	switch c.op {
	case opLess, opNotLess:
		greater("fcmgt", 0x6ea0e400)
	case opLessEqual:
		greater("fcmge", 0x6e20e400)
	}
	l.masks[c.dst] = maskNEON{to, c.op == opNotLess}
}

// fused adds the product to the summand where nobody needs that any more, else to a copy of it.
func (l *neonVector) fused(c instruction) {
	a, b, summand := l.reg(c.args[0]), l.reg(c.args[1]), c.args[2]
	if c.op != opFMS && l.inherit(c.dst, summand) {
		l.addProduct(c.op, l.regs[c.dst], a, b)
		return
	}
	to := l.result(c.dst)
	sum := to
	if sum == a || sum == b {
		sum = l.temp()
	}
	if c.op == opFMS {
		l.two("fneg", 0x6ea0f800, sum, l.reg(summand))
	} else {
		l.copyTo(sum, summand)
	}
	l.addProduct(c.op, sum, a, b)
	l.move(to, sum)
}

// inherit gives the register of a value that dies to a new one, if it may.
func (l *neonVector) inherit(to, from value) bool {
	r, ok := l.regs[from]
	if _, set := l.regs[to]; set || !ok || l.last[from] > l.now || slices.Contains(l.held, from) {
		return false
	}
	delete(l.regs, from)
	l.regs[to] = r
	return true
}

// addProduct is sum += a*b, or sum -= a*b.
func (l *neonVector) addProduct(op opcode, sum, a, b vreg) {
	switch op {
	case opFNMA:
		l.ins("VFMLS", b.v4(), a.v4(), sum.v4())
	case opFMAWide:
		l.ins("VFMLA", b.v2(), a.v2(), sum.v2())
	default:
		l.fmla(sum, a, b)
	}
}

// scale2 multiplies by 2^(n-1), made from n's bits, and by 2.
func (l *neonVector) scale2(c instruction) {
	const bias, mantissa = 127, 23
	a, n, power, base := l.reg(c.args[0]), l.reg(c.args[1]), l.temp(), l.temp()
	l.two("fcvtns", 0x4e21a800, power, n)
	l.loadData(base, [4]uint32{bias - 1, bias - 1, bias - 1, bias - 1})
	l.ins("VADD", base.v4(), power.v4(), power.v4())
	l.ins("VSHL", immediate(mantissa), power.v4(), power.v4())
	l.three("fmul", 0x6e20dc00, power, a, power)
	l.fadd(l.result(c.dst), power, power)
}

// reduce joins neighbours, then neighbours of those.
func (l *neonVector) reduce(c instruction) {
	n, to := l.reg(c.args[0]), l.result(c.dst)
	join := l.faddp
	if c.op == opLargest {
		join = func(d, n, m vreg) { l.three("fmaxp", 0x6e20f400, d, n, m) }
	}
	join(to, n, n)
	join(to, to, to)
}

// wide writes instructions on float64.
func (l *neonVector) wide(c instruction) {
	n, to := uint32(l.reg(c.args[0])), uint32(l.result(c.dst))
	switch c.op {
	case opWideLow:
		l.word(0x0e617800|n<<5|to, "fcvtl v%d.2d, v%d.2s", to, n)
	case opWideHigh:
		l.word(0x4e617800|n<<5|to, "fcvtl2 v%d.2d, v%d.4s", to, n)
	case opAddWide:
		m := uint32(l.reg(c.args[1]))
		l.word(0x4e60d400|m<<16|n<<5|to, "fadd v%d.2d, v%d.2d, v%d.2d", to, n, m)
	case opSumWide:
		l.word(0x6e60d400|n<<16|n<<5|to, "faddp v%d.2d, v%d.2d, v%d.2d", to, n, n)
	}
}
