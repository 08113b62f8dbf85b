package main

// words writes what works on lanes as uint32.
func (l *neonVector) words(c instruction) {
	to := l.result(c.dst)
	if c.op == opPattern {
		l.loadData(to, [4]uint32(c.lanes))
		return
	}
	n := l.reg(c.args[0])
	if c.op == opHighWord {
		l.ins("VUSHR", "$32", n.v2(), to.v2())
		return
	}
	m := l.reg(c.args[1])
	switch c.op {
	case opAddInt:
		l.ins("VADD", m.v4(), n.v4(), to.v4())
	case opMulEven:
		n, m = l.even(c.args[0]), l.even(c.args[1])
		l.word(0x2ea0c000|uint32(m)<<16|uint32(n)<<5|uint32(to), "umull v%d.2d, v%d.2s, v%d.2s", to, n, m)
	case opXor3:
		both := l.temp()
		l.ins("VEOR", m.b16(), n.b16(), both.b16())
		l.ins("VEOR", l.reg(c.args[2]).b16(), both.b16(), to.b16())
	case opAtLeast:
		l.three("cmhs", 0x6ea03c00, to, n, m)
		delete(l.regs, c.dst)
		l.masks[c.dst] = maskNEON{v: to}
	case opPairs:
		l.ins("VTRN1", m.v4(), n.v4(), to.v4())
	case opLowPairs:
		l.ins("VZIP1", m.v2(), n.v2(), to.v2())
	case opHighPairs:
		l.ins("VZIP2", m.v2(), n.v2(), to.v2())
	}
}

// even is a register with the even lanes of a value in front.
func (l *neonVector) even(v value) vreg {
	n := l.reg(v)
	if _, constant := l.k.constants[v]; constant {
		return n // all lanes are equal
	}
	even := l.temp()
	l.ins("VUZP1", n.v4(), n.v4(), even.v4())
	return even
}
