package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// integer writes what works on general registers.
func (l *x86) integer(i instruction) {
	switch i.op {
	case opParameter:
		l.gps[i.to] = argument(l.Context, i.name)
	case opCopy:
		l.gps[i.to] = l.GP64()
		l.MOVQ(l.gps[i.by], l.gps[i.to])
	case opAdvance:
		l.ADDQ(l.gps[i.by], l.gps[i.to])
	case opSkip:
		l.ADDQ(operand.I32(i.imm), l.gps[i.to])
	}
}

// memory writes loads and stores; in the last lanes the vector ones are masked.
func (l *x86) memory(i instruction) {
	switch i.op {
	case opArgument:
		l.VBROADCASTSS(l.parameter(i.name, i.imm), l.result(i.dst))
	case opResult:
		l.VMOVSS(l.reg(i.args[0]).AsX(), l.returned(i.name))
	case opResultWide:
		l.VMOVSD(l.reg(i.args[0]).AsX(), l.returned(i.name))
	case opLoadOne:
		l.VBROADCASTSS(at(l.gps[i.by], i.imm), l.result(i.dst))
	case opStoreOne:
		l.VMOVSS(l.reg(i.args[0]).AsX(), at(l.gps[i.to], i.imm))
	case opLoad:
		m, to := at(l.gps[i.by], i.imm), l.result(i.dst)
		switch {
		case !i.masked:
			l.VMOVUPS(m, to)
		case l.s.bytes == 64:
			l.VMOVUPS_Z(m, l.only, to)
		default:
			l.VMASKMOVPS(m, l.only, to)
		}
	case opStore:
		v, m := l.reg(i.args[0]), at(l.gps[i.to], i.imm)
		switch {
		case !i.masked:
			l.VMOVUPS(v, m)
		case l.s.bytes == 64:
			l.VMOVUPS(v, l.only, m)
		default:
			l.VMASKMOVPS(v, l.only, m)
		}
	}
}

// parameter is where a parameter, or an element of it, lies.
func (l *x86) parameter(name string, element int) operand.Mem {
	c := l.Param(name)
	if element != whole {
		c = c.Index(element)
	}
	p, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

func (l *x86) returned(name string) operand.Mem {
	p, err := l.Return(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// control writes the heads and the ends of loops, and of the last lanes.
func (l *x86) control(i instruction) {
	left := l.gps[i.to]
	switch i.op {
	case opLoop:
		label := l.open()
		l.SUBQ(operand.U32(i.imm), left)
		l.JL(operand.LabelRef(label + "end"))
		align(l.Context)
		l.Label(label)
	case opEndLoop:
		label := l.close()
		for _, p := range i.moving {
			l.ADDQ(operand.U32(4*i.imm), l.gps[p])
		}
		l.SUBQ(operand.U32(i.imm), left)
		l.JGE(operand.LabelRef(label))
		l.Label(label + "end")
		l.ADDQ(operand.U32(i.imm), left)
	case opTimes:
		label := l.open()
		l.TESTQ(left, left)
		l.JLE(operand.LabelRef(label + "end"))
		l.Label(label)
	case opEndTimes:
		label := l.close()
		l.DECQ(left)
		l.JNZ(operand.LabelRef(label))
		l.Label(label + "end")
	case opLast:
		label := l.open()
		l.TESTQ(left, left)
		l.JZ(operand.LabelRef(label + "end"))
		l.lastLanes(left)
	case opEndLast:
		for _, p := range i.moving {
			l.LEAQ(operand.Mem{Base: l.gps[p], Index: left, Scale: 4}, l.gps[p])
		}
		l.Label(l.close() + "end")
	}
}

// open returns a new label, and close the newest that is open.
func (l *x86) open() string {
	label := fmt.Sprintf("l%d", l.now)
	l.ends = append(l.ends, label)
	return label
}

func (l *x86) close() string {
	label := l.ends[len(l.ends)-1]
	l.ends = l.ends[:len(l.ends)-1]
	return label
}

// lastLanes makes the mask of the first left lanes.
func (l *x86) lastLanes(left reg.GPVirtual) {
	if l.s.bytes == 64 {
		ones, m := l.GP32(), l.K()
		l.MOVL(operand.U32(1<<16-1), ones)
		l.BZHIL(left.As32(), ones, ones)
		l.KMOVW(ones, m)
		l.only = m
		return
	}
	from, m := l.GP64(), l.vec()
	l.LEAQ(l.data.base.Offset(4*repeats), from)
	l.SHLQ(operand.U8(2), left)
	l.SUBQ(left, from)
	l.SHRQ(operand.U8(2), left)
	l.VMOVUPS(at(from, 0), m)
	l.only = m
}
