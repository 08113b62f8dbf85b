package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors returns the family of the given kernels, for both instruction sets.
func vectors(routines []routine) func(c *build.Context) {
	return func(c *build.Context) {
		data := newDataX86(c)
		for _, s := range []isa{avx512, avx2} {
			for _, r := range routines {
				function(c, r.name+s.suffix, r.doc, r.signature)
				k := newKernel(s.lanes())
				r.write(k)
				lowerX86(c, s, data, k)
			}
		}
	}
}

// dataX86 is a family's read-only data: eight words of ones and eight of zeros, in which AVX2 finds the masks of
// last lanes, then the constants, each eight times.
type dataX86 struct {
	c    *build.Context
	base operand.Mem
	size int
	at   map[uint32]int
}

const repeats = 8

func newDataX86(c *build.Context) *dataX86 {
	d := &dataX86{c: c, base: c.StaticGlobal("constants"), at: map[uint32]int{}}
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	d.add(1<<32 - 1)
	d.add(0)
	return d
}

func (d *dataX86) add(bits uint32) {
	for range repeats / 2 {
		d.c.AddDatum(d.size, operand.U64(uint64(bits)<<32|uint64(bits)))
		d.size += 8
	}
}

// constant is where a constant lies.
func (d *dataX86) constant(bits uint32) operand.Mem {
	at, ok := d.at[bits]
	if !ok {
		at = d.size
		d.at[bits] = at
		d.add(bits)
	}
	return d.base.Offset(at)
}

// x86 is a program on its way to AVX-512 or AVX2.
type x86 struct {
	*build.Context
	s     isa
	data  *dataX86
	k     *kernel
	last  []int // instruction that needs a value last
	now   int   // instruction
	regs  map[value]reg.VecVirtual
	masks map[mask]reg.Register // an opmask, or a vector
	gps   map[scalar]reg.GPVirtual
	ends  []string     // labels of the loops that are open
	only  reg.Register // mask of the last lanes
	odd   reg.Register // AVX-512: mask of the odd lanes, for opPairs
}

func lowerX86(c *build.Context, s isa, data *dataX86, k *kernel) {
	l := &x86{
		Context: c, s: s, data: data, k: k, last: k.lifetimes(),
		regs: map[value]reg.VecVirtual{}, masks: map[mask]reg.Register{}, gps: map[scalar]reg.GPVirtual{},
	}
	l.begin()
	for i, c := range k.code {
		l.now = i
		l.lower(c)
	}
	c.VZEROUPPER()
	c.RET()
}

// form is how a vector instruction is had: with a vector in memory, or (AVX-512) with one float there.
type form struct {
	plain, spread func(c *build.Context, ops ...operand.Op)
	swap          bool // operands may change places
}

var formsX86 = map[opcode]form{
	opAdd:     {(*build.Context).VADDPS, (*build.Context).VADDPS_BCST, true},
	opSub:     {(*build.Context).VSUBPS, (*build.Context).VSUBPS_BCST, false},
	opMul:     {(*build.Context).VMULPS, (*build.Context).VMULPS_BCST, true},
	opDiv:     {(*build.Context).VDIVPS, (*build.Context).VDIVPS_BCST, false},
	opMin:     {(*build.Context).VMINPS, (*build.Context).VMINPS_BCST, false},
	opMax:     {(*build.Context).VMAXPS, (*build.Context).VMAXPS_BCST, false},
	opAnd:     {(*build.Context).VANDPS, (*build.Context).VANDPS_BCST, true},
	opAddWide: {(*build.Context).VADDPD, nil, true},

	opAddInt:    {(*build.Context).VPADDD, (*build.Context).VPADDD_BCST, true},
	opMulEven:   {(*build.Context).VPMULUDQ, nil, true},
	opLowPairs:  {(*build.Context).VPUNPCKLQDQ, nil, false},
	opHighPairs: {(*build.Context).VPUNPCKHQDQ, nil, false},
}

// comparisons are the predicates of VCMPPS, which raise no exceptions.
var comparisons = map[opcode]operand.U8{opLess: 0x11, opLessEqual: 0x12, opNotLess: 0x15}

// lower writes one instruction.
func (l *x86) lower(i instruction) {
	if f, ok := formsX86[i.op]; ok {
		a, b := i.args[0], i.args[1]
		if f.swap && l.isConstant(a) {
			a, b = b, a
		}
		if f.spread == nil {
			f.plain(l.Context, l.reg(b), l.reg(a), l.result(i.dst))
			return
		}
		l.apply(f, b, l.reg(a), l.result(i.dst))
		return
	}
	if predicate, ok := comparisons[i.op]; ok {
		l.compare(predicate, i)
		return
	}
	switch i.op {
	case opLoop, opEndLoop, opLast, opEndLast, opTimes, opEndTimes:
		l.control(i)
	case opParameter, opCopy, opAdvance, opSkip:
		l.integer(i)
	case opLoad, opStore, opLoadOne, opStoreOne, opArgument, opResult, opResultWide:
		l.memory(i)
	case opHold:
		if l.s.bytes == 64 {
			for _, v := range l.k.held(i.imm) {
				l.regs[v] = l.reg(v)
			}
		}
	case opVariable, opSet:
		l.move(l.result(i.dst), i.args[0])
	case opActive:
		l.active(i)
	case opFMA, opFMS, opFNMA, opFMAWide:
		l.fma(i)
	case opSqrt:
		l.VSQRTPS(l.reg(i.args[0]), l.result(i.dst))
	case opScale2:
		l.scale2(i)
	case opChoose:
		l.choose(i)
	case opWhere:
		l.where(i)
	case opSum, opLargest, opSumWide:
		l.reduce(i)
	case opWideLow, opWideHigh:
		l.wide(i)
	case opPattern, opHighWord, opXor3, opAtLeast, opPairs:
		l.words(i)
	default:
		panic(fmt.Sprintf("no instruction for opcode %d", i.op))
	}
}

// isConstant tells whether v is to be taken from the data: a constant that no register holds.
func (l *x86) isConstant(v value) bool {
	_, constant := l.k.constants[v]
	_, held := l.regs[v]
	return constant && !held
}

func (l *x86) vec() reg.VecVirtual { return l.s.vec(l.Context) }

// result is the register that takes a value.
func (l *x86) result(v value) reg.VecVirtual {
	r, ok := l.regs[v]
	if !ok {
		r = l.vec()
		l.regs[v] = r
	}
	return r
}

// reg is the register that holds a value; a constant is loaded.
func (l *x86) reg(v value) reg.VecVirtual {
	if r, ok := l.regs[v]; ok {
		return r
	}
	r := l.vec()
	l.move(r, v)
	return r
}

// move copies a value, or loads a constant.
func (l *x86) move(to reg.VecVirtual, v value) {
	switch bits := l.k.constants[v]; {
	case !l.isConstant(v):
		l.VMOVAPS(l.regs[v], to)
	case bits == 0:
		l.VXORPS(to, to, to)
	default:
		l.VBROADCASTSS(l.data.constant(bits), to)
	}
}

// apply writes f with v, in a register or in memory, as its first operand.
func (l *x86) apply(f form, v value, rest ...operand.Op) {
	bits := l.k.constants[v]
	switch {
	case !l.isConstant(v):
		f.plain(l.Context, append([]operand.Op{l.regs[v]}, rest...)...)
	case l.s.bytes == 64:
		f.spread(l.Context, append([]operand.Op{l.data.constant(bits)}, rest...)...)
	default:
		f.plain(l.Context, append([]operand.Op{l.data.constant(bits)}, rest...)...)
	}
}

// fusedForms are the three forms of a fused product and sum, by the operand that the result replaces: the third
// operand of VFMADD213PS z, y, x (x*y + z) and of VFMADD132PS z, y, x (x*z + y) is a factor, that of
// VFMADD231PS z, y, x (z*y + x) the summand.
var fusedForms = map[opcode]struct{ f213, f132, f231 form }{
	opFMA: {
		form{plain: (*build.Context).VFMADD213PS, spread: (*build.Context).VFMADD213PS_BCST},
		form{plain: (*build.Context).VFMADD132PS, spread: (*build.Context).VFMADD132PS_BCST},
		form{plain: (*build.Context).VFMADD231PS, spread: (*build.Context).VFMADD231PS_BCST},
	},
	opFMS: {
		form{plain: (*build.Context).VFMSUB213PS, spread: (*build.Context).VFMSUB213PS_BCST},
		form{plain: (*build.Context).VFMSUB132PS, spread: (*build.Context).VFMSUB132PS_BCST},
		form{plain: (*build.Context).VFMSUB231PS, spread: (*build.Context).VFMSUB231PS_BCST},
	},
	opFNMA: {
		form{plain: (*build.Context).VFNMADD213PS, spread: (*build.Context).VFNMADD213PS_BCST},
		form{plain: (*build.Context).VFNMADD132PS, spread: (*build.Context).VFNMADD132PS_BCST},
		form{plain: (*build.Context).VFNMADD231PS, spread: (*build.Context).VFNMADD231PS_BCST},
	},
	opFMAWide: {
		form{plain: (*build.Context).VFMADD213PD}, form{plain: (*build.Context).VFMADD132PD}, form{plain: (*build.Context).VFMADD231PD},
	},
}

// fma overwrites the operand that is the variable to be set, or that nobody needs any more; else a copy.
func (l *x86) fma(i instruction) {
	f := fusedForms[i.op]
	a, b, c := i.args[0], i.args[1], i.args[2]
	if l.isConstant(a) {
		a, b = b, a // a constant factor is b
	}
	switch {
	case l.mayReplace(c, i):
		l.replace(c, i)
		l.apply(f.f231, b, l.reg(a), l.regs[i.dst])
	case l.mayReplace(a, i):
		l.replace(a, i)
		l.factor(f.f213, f.f132, b, c, l.regs[i.dst])
	case l.mayReplace(b, i):
		l.replace(b, i)
		l.factor(f.f213, f.f132, a, c, l.regs[i.dst])
	case l.isConstant(b) && !l.isConstant(c):
		to := l.result(i.dst)
		l.move(to, b)
		l.factor(f.f213, f.f132, a, c, to)
	default:
		to := l.result(i.dst)
		l.move(to, c)
		l.apply(f.f231, b, l.reg(a), to)
	}
}

// factor multiplies to by v and adds c.
func (l *x86) factor(f213, f132 form, v, c value, to reg.VecVirtual) {
	if l.isConstant(v) {
		l.apply(f132, v, l.reg(c), to)
		return
	}
	l.apply(f213, c, l.reg(v), to)
}

// mayReplace tells whether the result may lie in v's register.
func (l *x86) mayReplace(v value, i instruction) bool {
	if _, constant := l.k.constants[v]; constant {
		return false
	}
	if _, set := l.regs[i.dst]; set {
		return v == i.dst
	}
	return l.last[v] == l.now
}

func (l *x86) replace(v value, i instruction) { l.regs[i.dst] = l.regs[v] }

// scale2 in AVX2 multiplies by 2^(n-1), made from n's bits, and by 2.
func (l *x86) scale2(i instruction) {
	a, n, to := l.reg(i.args[0]), l.reg(i.args[1]), l.result(i.dst)
	if l.s.bytes == 64 {
		l.VSCALEFPS(n, a, to)
		return
	}
	const bias, mantissa = 127, 23
	power, product := l.vec(), l.vec()
	l.VCVTPS2DQ(n, power)
	l.VPADDD(l.data.constant(bias-1), power, power)
	l.VPSLLD(operand.U8(mantissa), power, power)
	l.VMULPS(power, a, product)
	l.VADDPS(product, product, to)
}
