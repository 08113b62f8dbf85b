package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// neonVectors returns the family of the given kernels, see vector.go, for NEON.
func neonVectors(routines []routine) func(a *arm) {
	return func(a *arm) {
		data := dataNEON{}
		for _, r := range routines {
			a.function(r.name+"NEON", r.doc, r.signature)
			k := newKernel(4)
			r.write(k)
			lowerNEON(a, &data, k)
		}
		data.write(a)
	}
}

// neonVector is a program on its way to NEON.
type neonVector struct {
	*arm
	data *dataNEON
	k    *kernel
	last []int // instruction that needs a value last, then a scalar
	now  int   // instruction

	base  xreg // of the data
	based bool // the program reads it
	regs  map[value]vreg
	masks map[value]maskNEON // by number
	gps   map[scalar]xreg
	args  map[string]vreg // those that loops read
	held  []value         // whose registers are not given back
	most  int             // how many constants may be held
	temps []vreg          // taken for the present instruction
	ends  []string        // labels of the loops that are open
	lanes int             // that have an element: 4, and less in the last ones
}

// maskNEON has all bits set in the lanes of yes; in those of no when it is inverted.
type maskNEON struct {
	v        vreg
	inverted bool
}

// lowerNEON writes the program. It holds as many constants in registers as it can.
func lowerNEON(a *arm, data *dataNEON, k *kernel) {
	last, begin := lifetimesNEON(k), a.text.Len()
	for most := len(k.constants); ; most-- {
		l := &neonVector{
			arm: a, data: data, k: k, last: last, most: most, lanes: 4,
			regs: map[value]vreg{}, masks: map[value]maskNEON{}, gps: map[scalar]xreg{}, args: map[string]vreg{},
		}
		a.body(func() {
			l.base = a.xreg()
			l.loadArguments()
			l.write(0, len(k.code))
			a.ins("RET")
		})
		if a.short && most > 0 {
			a.short = false
			a.text.Truncate(begin)
			continue
		}
		if l.based {
			text := bytes.Clone(a.text.Bytes()[begin:])
			a.text.Truncate(begin)
			a.ins("MOVD", "$constants<>(SB)", l.base)
			a.text.Write(text)
		}
		return
	}
}

// lifetimesNEON is lifetimes for masks, which share numbers with values, and for scalars, which come behind
// them, too.
func lifetimesNEON(k *kernel) []int {
	all := *k
	all.values, all.code = k.values+k.scalars, slices.Clone(k.code)
	number := func(s scalar) value { return value(k.values + int(s)) }
	for i, c := range all.code {
		args := slices.Clone(c.args)
		if c.mask != 0 {
			args = append(args, value(c.mask))
		}
		for _, s := range append(slices.Clone(c.moving), c.to, c.by) {
			if s != 0 {
				args = append(args, number(s))
			}
		}
		if c.op == opParameter || c.op == opCopy {
			all.code[i].dst = number(c.to)
		}
		all.code[i].args = args
	}
	return all.lifetimes()
}

// write writes the instructions from one to before another.
func (l *neonVector) write(from, to int) {
	for l.now = from; l.now < to; l.now++ {
		c := l.k.code[l.now]
		if c.op == opLast {
			l.lastLanes(c)
		} else {
			l.lower(c)
		}
		l.release()
	}
}

// release gives back the registers of the instruction, and of what is not needed any more.
func (l *neonVector) release() {
	for _, r := range l.temps {
		l.v |= 1 << r
	}
	l.temps = l.temps[:0]
	for v, r := range l.regs {
		if l.last[v] <= l.now && !slices.Contains(l.held, v) {
			l.v |= 1 << r
			delete(l.regs, v)
		}
	}
	for m, r := range l.masks {
		if l.last[m] <= l.now {
			l.v |= 1 << r.v
			delete(l.masks, m)
		}
	}
	for s, r := range l.gps {
		if l.last[l.k.values+int(s)] <= l.now {
			l.x |= 1 << r
			delete(l.gps, s)
		}
	}
}

// lastLanes writes the body of the last lanes for each number of them.
func (l *neonVector) lastLanes(c instruction) {
	begin, done := l.now, l.newLabel("done")
	end := begin + slices.IndexFunc(l.k.code[begin:], func(c instruction) bool { return c.op == opEndLast })
	left := l.gps[c.to]
	l.ins("CMP", "$0", left)
	l.ins("BLE", done)
	l.byCount(left, 3, func(n int) {
		regs, masks, gps := maps.Clone(l.regs), maps.Clone(l.masks), maps.Clone(l.gps)
		l.lanes = n
		l.write(begin+1, end)
		l.regs, l.masks, l.gps, l.lanes = regs, masks, gps, 4
	})
	for _, p := range l.k.code[end].moving {
		l.ins("ADD", shifted(left, 2), l.gps[p])
	}
	l.label(done)
	l.now = end
}

// temp is a register for the present instruction only.
func (l *neonVector) temp() vreg {
	r := l.vreg()
	l.temps = append(l.temps, r)
	return r
}

// result is the register that takes a value.
func (l *neonVector) result(v value) vreg {
	r, ok := l.regs[v]
	if !ok {
		r = l.vreg()
		l.regs[v] = r
	}
	return r
}

// reg is the register that holds a value; a constant that none holds is loaded.
func (l *neonVector) reg(v value) vreg {
	if r, ok := l.regs[v]; ok {
		return r
	}
	r := l.temp()
	l.copyTo(r, v)
	return r
}

// copyTo copies a value, or loads a constant.
func (l *neonVector) copyTo(to vreg, v value) {
	if r, ok := l.regs[v]; ok {
		l.move(to, r)
	} else if b := l.k.constants[v]; b == 0 {
		l.zero(to)
	} else {
		l.loadData(to, [4]uint32{b, b, b, b})
	}
}

func (l *neonVector) loadData(to vreg, words [4]uint32) {
	l.based = true
	l.load(4, to, l.base, l.data.offset(words))
}

// hold loads the constants that are operands most often. As summands of fused products, which the result
// overwrites, they are as well in memory.
func (l *neonVector) hold(n int) {
	uses := map[value]int{}
	for _, c := range l.k.code {
		for i, v := range c.args {
			if _, constant := l.k.constants[v]; constant && !(i == 2 && isFused(c.op)) {
				uses[v]++
			}
		}
	}
	all := slices.Sorted(maps.Keys(uses))
	slices.SortStableFunc(all, func(v, w value) int { return uses[w] - uses[v] })
	l.held = all[:min(n, l.most, len(all))]
	for _, v := range l.held {
		r := l.vreg()
		l.copyTo(r, v)
		l.regs[v] = r
	}
}

// loadArguments loads the arguments that loops read.
func (l *neonVector) loadArguments() {
	depth := 0
	for _, c := range l.k.code {
		switch c.op {
		case opLoop, opTimes, opLast:
			depth++
		case opEndLoop, opEndTimes, opEndLast:
			depth--
		case opArgument:
			at := l.element(c.name, c.imm)
			if _, ok := l.args[at]; depth > 0 && !ok {
				l.args[at] = l.vreg()
				l.loadArgument(l.args[at], at)
			}
		}
	}
}

// loadArgument loads the float at the given place into all lanes.
func (l *neonVector) loadArgument(to vreg, at string) {
	l.ins("FMOVS", at, to.f())
	l.spread(to)
}

func isFused(op opcode) bool {
	return op == opFMA || op == opFMS || op == opFNMA || op == opFMAWide
}

// control writes the heads and the ends of loops.
func (l *neonVector) control(c instruction) {
	left := l.gps[c.to]
	switch c.op {
	case opLoop:
		begin, end := l.open()
		l.ins("SUBS", immediate(c.imm), left)
		l.ins("BLT", end)
		l.loop(begin)
	case opEndLoop:
		begin, end := l.close()
		for _, p := range c.moving {
			l.ins("ADD", immediate(4*c.imm), l.gps[p])
		}
		l.ins("SUBS", immediate(c.imm), left)
		l.ins("BGE", begin)
		l.label(end)
		l.ins("ADD", immediate(c.imm), left)
	case opTimes:
		begin, end := l.open()
		l.ins("CMP", "$0", left)
		l.ins("BLE", end)
		l.label(begin)
	case opEndTimes:
		begin, end := l.close()
		l.countDown(left, begin)
		l.label(end)
	}
}

// open returns the labels of a new loop, and close those of the newest that is open.
func (l *neonVector) open() (begin, end string) {
	name := l.newLabel("loop")
	l.ends = append(l.ends, name)
	return name, name + "end"
}

func (l *neonVector) close() (begin, end string) {
	name := l.ends[len(l.ends)-1]
	l.ends = l.ends[:len(l.ends)-1]
	return name, name + "end"
}

// dataNEON is a family's read-only data, vectors of four words.
type dataNEON [][4]uint32

// offset is where a vector lies, in bytes.
func (d *dataNEON) offset(words [4]uint32) int {
	i := slices.Index(*d, words)
	if i < 0 {
		i = len(*d)
		*d = append(*d, words)
	}
	return 16 * i
}

func (d dataNEON) write(a *arm) {
	if len(d) == 0 {
		return
	}
	a.text.WriteByte('\n')
	for i, words := range d {
		for j := 0; j < 4; j += 2 {
			fmt.Fprintf(&a.text, "DATA constants<>+%d(SB)/8, $0x%08x%08x\n", 16*i+4*j, words[j+1], words[j])
		}
	}
	fmt.Fprintf(&a.text, "GLOBL constants<>(SB), RODATA|NOPTR, $%d\n", 16*len(d))
}
