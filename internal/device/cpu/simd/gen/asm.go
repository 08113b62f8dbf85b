package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set of amd64: the width of its registers and how they are had.
type isa struct {
	suffix string // of the kernels' names
	bytes  int    // of a register
	count  int    // of registers
}

var (
	avx512 = isa{"512", 64, 32}
	avx2   = isa{"256", 32, 16}
)

// lanes is the number of floats in a register.
func (s isa) lanes() int { return s.bytes / 4 }

// vec returns a register.
func (s isa) vec(c *build.Context) reg.VecVirtual {
	if s.bytes == 64 {
		return c.ZMM()
	}
	return c.YMM()
}

// vecs returns n registers.
func (s isa) vecs(c *build.Context, n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = s.vec(c)
	}
	return v
}

// function begins a kernel that lets none of its arguments escape.
func function(c *build.Context, name, doc, signature string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr(signature)
	c.Pragma("noescape")
	c.Doc(name + " " + doc)
}

// argument loads a parameter of the function into a general register.
func argument(c *build.Context, name string) reg.GPVirtual {
	r := c.GP64()
	c.Load(c.Param(name), r)
	return r
}

// at is the memory at base plus an offset in bytes.
func at(base reg.Register, bytes int) operand.Mem { return operand.Mem{Base: base, Disp: bytes} }

// align begins the next instruction, the head of a loop, on a cache line.
func align(c *build.Context) {
	c.Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []operand.Op{operand.Imm(64)}})
}
