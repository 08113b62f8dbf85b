package main

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"

	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/printer"
)

// xreg is a general register of arm64, vreg a vector register of four floats.
type xreg int
type vreg int

func (r xreg) String() string { return fmt.Sprintf("R%d", int(r)) }
func (r vreg) String() string { return fmt.Sprintf("V%d", int(r)) }

// f is the register's name where Go's assembler loads and stores it.
func (r vreg) f() string { return fmt.Sprintf("F%d", int(r)) }

// scratch is a general register that instructions may take for themselves.
const scratch = xreg(17)

// The registers that a kernel may use: not those that hold the platform's, the linker's and the runtime's
// values (R18, R26 to R31).
const (
	allXregs = 1<<26 - 1 - (1<<scratch | 1<<18)
	allVregs = 1<<32 - 1
)

// arm is a file of kernels for arm64, and the one that is being written. avo knows amd64 only: the text of
// arm64 is printed here.
type arm struct {
	file   *ir.File // the declarations
	text   bytes.Buffer
	fn     *ir.Function
	labels int
	x, v   uint64 // free registers, by bit
	short  bool   // of registers: one was wanted when none was free
}

// function begins a kernel that lets none of its arguments escape.
func (a *arm) function(name, doc, signature string) {
	s, err := gotypes.ParseSignature(signature)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	a.fn = ir.NewFunction(name)
	a.fn.SetSignature(s)
	a.fn.AddPragma("noescape")
	a.fn.Doc = []string{name + " " + doc}
	a.file.AddSection(a.fn)
	a.labels, a.x, a.v = 0, allXregs, allVregs
	fmt.Fprintf(&a.text, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", a.fn.Stub(), name, s.Bytes())
}

// ins writes an instruction of Go's assembler.
func (a *arm) ins(op string, operands ...any) {
	fmt.Fprintf(&a.text, "\t%s", op)
	for i, o := range operands {
		fmt.Fprintf(&a.text, "%s%v", []string{" ", ", "}[min(i, 1)], o)
	}
	a.text.WriteByte('\n')
}

// word writes an instruction that Go's assembler lacks.
func (a *arm) word(bits uint32, format string, operands ...any) {
	fmt.Fprintf(&a.text, "\tWORD $0x%08x // %s\n", bits, fmt.Sprintf(format, operands...))
}

// newLabel returns a label that the function has not had.
func (a *arm) newLabel(name string) string {
	a.labels++
	return fmt.Sprintf("%s%d", name, a.labels)
}

func (a *arm) label(l string) { fmt.Fprintf(&a.text, "%s:\n", l) }

// loop begins a loop at a label, on a boundary of the instruction fetch.
func (a *arm) loop(l string) {
	a.ins("PCALIGN", "$32")
	a.label(l)
}

// xreg takes a free general register.
func (a *arm) xreg() xreg { return xreg(a.take(&a.x)) }

// vreg takes a free vector register.
func (a *arm) vreg() vreg { return vreg(a.take(&a.v)) }

// vregs takes n free vector registers.
func (a *arm) vregs(n int) []vreg {
	v := make([]vreg, n)
	for i := range v {
		v[i] = a.vreg()
	}
	return v
}

func (a *arm) take(free *uint64) int {
	if *free == 0 {
		a.short = true
		return 0
	}
	r := bits.TrailingZeros64(*free)
	*free &^= 1 << r
	return r
}

// parameter is where a parameter of the function lies.
func (a *arm) parameter(name string) string { return a.element(name, whole) }

// element is where element i of a parameter that is an array lies, or the whole parameter.
func (a *arm) element(name string, i int) string {
	c, symbol := a.fn.Signature.Params().Lookup(name), name
	if i != whole {
		c, symbol = c.Index(i), fmt.Sprintf("%s_%d", name, i)
	}
	p, err := c.Resolve()
	if err != nil {
		panic(fmt.Sprintf("%s: %v", a.fn.Name, err))
	}
	return fmt.Sprintf("%s+%d(FP)", symbol, p.Addr.Disp)
}

// returned is where a result of the function goes.
func (a *arm) returned(name string) string {
	r, err := a.fn.Signature.Results().Lookup(name).Resolve()
	if err != nil {
		panic(fmt.Sprintf("%s: %v", a.fn.Name, err))
	}
	return fmt.Sprintf("%s+%d(FP)", name, r.Addr.Disp)
}

// argument loads a parameter into a general register.
func (a *arm) argument(name string) xreg {
	r := a.xreg()
	a.ins("MOVD", a.parameter(name), r)
	return r
}

// body writes a part of the function, whose registers are free again behind it.
func (a *arm) body(f func()) {
	x, v := a.x, a.v
	f()
	a.x, a.v = x, v
}

// byCount writes what f writes for each n from 1 to most, and jumps to that of the number in n, which is one
// of them.
func (a *arm) byCount(n xreg, most int, f func(n int)) {
	end := a.newLabel("end")
	for i := 1; i < most; i++ {
		next := a.newLabel("more")
		a.ins("CMP", immediate(i), n)
		a.ins("BNE", next)
		a.body(func() { f(i) })
		a.ins("B", end)
		a.label(next)
	}
	a.body(func() { f(most) })
	a.label(end)
}

// immediate is a constant operand, and shifted a register times 2^by.
func immediate(n int) string        { return fmt.Sprintf("$%d", n) }
func shifted(r xreg, by int) string { return fmt.Sprintf("%v<<%d", r, by) }

// mem is the memory at a register plus an offset in bytes.
func mem(base xreg, bytes int) string {
	if bytes == 0 {
		return fmt.Sprintf("(%v)", base)
	}
	return fmt.Sprintf("%d(%v)", bytes, base)
}

// writeNEON writes a family's base.s and base.go.
func writeNEON(base string, family func(a *arm)) error {
	a := &arm{file: ir.NewFile()}
	config := printer.Config{Name: "gen", Argv: []string{"make", "asm"}, Pkg: "simd"}
	fmt.Fprintf(&a.text, "// %s\n\n#include \"textflag.h\"\n", config.GeneratedWarning())
	family(a)
	if a.short {
		return fmt.Errorf("out of registers, in %s or before", a.fn.Name)
	}
	if err := os.WriteFile(base+".s", a.text.Bytes(), 0o644); err != nil {
		return err
	}
	text, err := printer.NewStubs(config).Print(a.file)
	if err != nil {
		return err
	}
	return os.WriteFile(base+".go", text, 0o644)
}
