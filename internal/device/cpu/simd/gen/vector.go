package main

import (
	"fmt"
	"math"
	"slices"
)

// A kernel is a vector kernel being written, once for every instruction set: its methods append instructions to a
// program, which vector_x86.go turns into AVX-512 and AVX2, and neon_vector.go into NEON. A whole kernel:
//
//	routine{
//		name: "scaleAdd", doc: "sets y = s*x + y.", signature: "func(n int, y, x *float32, s float32)",
//		write: func(k *kernel) {
//			y, x, s := k.pointer("y"), k.pointer("x"), k.argument("s")
//			k.each(k.count("n"), 4, func(int) {
//				k.store(y, k.fma(s, k.load(x), k.load(y)))
//			}, y, x)
//		},
//	}
//
// The body of each runs for whole vectors, four to a turn here, and once for the last elements that fill only a part
// of a vector: there, loads give 0 in the lanes that lack an element, and stores leave them alone. What is summed up
// over elements is kept in variables, one for each vector of a turn, and without those lanes:
//
//	sums := k.variables(4, k.constant(0))
//	k.each(n, 4, func(u int) {
//		k.set(sums[u], k.add(sums[u], k.active(exp(k, k.load(x)), k.constant(0))))
//	}, x)
//	k.result("sum", k.sum(k.reduce(k.add, sums)))
//
// The pointers given to each move with the body; afterwards they stand n floats on. Rows are a loop of times around
// each; advance and copy move between rows. Values never change, but for variables, by set. Of the 16 registers of
// AVX2, constants take none; hold keeps some in the 32 of others.
type kernel struct {
	lanes int // floats in a vector

	code      []instruction
	values    int              // so far; the first is 1
	constants map[value]uint32 // as bits
	known     map[uint32]value // the constant of given bits
	changing  map[value]bool   // variables
	gone      map[value]bool   // became the new value of a variable
	scalars   int              // so far; the first is 1
	offset    int              // bytes from a moving pointer to the vector that the body is at
	turn      int              // vectors of the turn that the body is in
	masked    bool             // the body is at the last elements, less than a vector
}

// routine is a kernel to be written; the suffix of the instruction set goes behind its name.
type routine struct {
	name, doc, signature string
	write                func(k *kernel)
}

// value is a vector: a result, a variable or a constant. mask is a yes or no for each lane. scalar is a general
// register: an address in bytes, or an integer.
type (
	value  int
	mask   int
	scalar int
)

// instruction is one step of a program.
type instruction struct {
	op     opcode
	dst    value // a mask's number for opLess and the like
	args   []value
	mask   mask
	to, by scalar
	moving []scalar // the pointers of a loop
	imm    int      // bytes of an offset; elements of a turn; element of a parameter
	lanes  []uint32 // of a pattern
	name   string   // of a parameter
	masked bool
}

func newKernel(lanes int) *kernel {
	return &kernel{
		lanes: lanes, constants: map[value]uint32{}, known: map[uint32]value{},
		changing: map[value]bool{}, gone: map[value]bool{},
	}
}

// emit appends an instruction that gives a value.
func (k *kernel) emit(i instruction) value {
	for _, a := range i.args {
		if k.gone[a] {
			panic(fmt.Sprintf("value %d became that of a variable: read the variable", a))
		}
	}
	k.values++
	i.dst, i.masked = value(k.values), k.masked
	k.code = append(k.code, i)
	return i.dst
}

// act appends an instruction without a value.
func (k *kernel) act(i instruction) {
	k.emit(i)
	k.code[len(k.code)-1].dst = 0
}

func (k *kernel) newScalar() scalar {
	k.scalars++
	return scalar(k.scalars)
}

// pointer and count read a parameter of the kernel: a *float32, an int.
func (k *kernel) pointer(name string) scalar {
	p := k.newScalar()
	k.act(instruction{op: opParameter, to: p, name: name})
	return p
}

func (k *kernel) count(name string) scalar { return k.pointer(name) }

// argument reads a float32 parameter, or another of 32 bits, into all lanes.
func (k *kernel) argument(name string) value { return k.argumentAt(name, whole) }

// whole is in place of an element's number for a parameter that is not an array.
const whole = -1

// result returns the first lane of v as the named result.
func (k *kernel) result(name string, v value) {
	k.act(instruction{op: opResult, name: name, args: []value{v}})
}

// copy returns another scalar that is now equal to p.
func (k *kernel) copy(p scalar) scalar {
	q := k.newScalar()
	k.act(instruction{op: opCopy, to: q, by: p})
	return q
}

// advance adds by, for a pointer in bytes, to p.
func (k *kernel) advance(p, by scalar) { k.act(instruction{op: opAdvance, to: p, by: by}) }

// skip adds a constant to p.
func (k *kernel) skip(p scalar, bytes int) { k.act(instruction{op: opSkip, to: p, imm: bytes}) }

// constant is f in all lanes.
func (k *kernel) constant(f float64) value { return k.bits(math.Float32bits(float32(f))) }

// bits is a constant given as bits.
func (k *kernel) bits(b uint32) value {
	if v, ok := k.known[b]; ok {
		return v
	}
	k.values++
	v := value(k.values)
	k.constants[v], k.known[b] = b, v
	return v
}

// hold keeps the n constants that the kernel names most often in registers from here on; AVX2, short of registers,
// takes them from memory.
func (k *kernel) hold(n int) { k.act(instruction{op: opHold, imm: n}) }

// held returns the constants that a hold of n is about, the most frequent first.
func (k *kernel) held(n int) []value {
	uses, all := map[value]int{}, []value{}
	for _, i := range k.code {
		for _, a := range i.args {
			if _, ok := k.constants[a]; ok {
				if uses[a]++; uses[a] == 1 {
					all = append(all, a)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b value) int { return uses[b] - uses[a] })
	return all[:min(n, len(all))]
}

// variables returns n variables that begin as v.
func (k *kernel) variables(n int, v value) []value {
	all := make([]value, n)
	for i := range all {
		all[i] = k.emit(instruction{op: opVariable, args: []value{v}})
		k.changing[all[i]] = true
	}
	return all
}

// set changes a variable to v, which must not be read any more when it was the instruction just before.
func (k *kernel) set(variable, v value) {
	if last := &k.code[len(k.code)-1]; last.dst == v && last.op != opVariable {
		last.dst = variable
		k.gone[v] = true
		return
	}
	k.emit(instruction{op: opSet, args: []value{v}})
	k.code[len(k.code)-1].dst = variable
}

// reduce joins all values by f, in a tree.
func (k *kernel) reduce(f func(a, b value) value, all []value) value {
	if len(all) == 1 {
		return all[0]
	}
	half := len(all) / 2
	return f(k.reduce(f, all[:half]), k.reduce(f, all[half:]))
}

// each runs body for n elements, unroll vectors to a turn, of which body gets the number; see [kernel].
func (k *kernel) each(n scalar, unroll int, body func(u int), moving ...scalar) {
	left := k.copy(n)
	loop := func(unroll int) {
		k.turn = unroll
		k.act(instruction{op: opLoop, to: left, imm: unroll * k.lanes, moving: moving})
		for u := range unroll {
			k.offset = 4 * k.lanes * u
			body(u)
		}
		k.offset = 0
		k.act(instruction{op: opEndLoop, to: left, imm: unroll * k.lanes, moving: moving})
	}
	if unroll > 1 {
		loop(unroll)
	}
	loop(1)
	k.act(instruction{op: opLast, to: left})
	k.masked = true
	body(0)
	k.masked = false
	k.act(instruction{op: opEndLast, to: left, moving: moving})
}

// times runs body n times.
func (k *kernel) times(n scalar, body func()) {
	left := k.copy(n)
	k.act(instruction{op: opTimes, to: left})
	body()
	k.act(instruction{op: opEndTimes, to: left})
}

// load and store access the vector at p, in the body of each the one that the body is at.
func (k *kernel) load(p scalar) value {
	return k.emit(instruction{op: opLoad, by: p, imm: k.offset})
}

func (k *kernel) store(p scalar, v value) {
	k.act(instruction{op: opStore, to: p, imm: k.offset, args: []value{v}})
}

// loadOne reads the float bytes behind p into all lanes; storeOne writes the first lane there.
func (k *kernel) loadOne(p scalar, bytes int) value {
	return k.emit(instruction{op: opLoadOne, by: p, imm: bytes})
}

func (k *kernel) storeOne(p scalar, bytes int, v value) {
	k.act(instruction{op: opStoreOne, to: p, imm: bytes, args: []value{v}})
}

// active is v, with other in the lanes that lack an element.
func (k *kernel) active(v, other value) value {
	if !k.masked {
		return v
	}
	return k.emit(instruction{op: opActive, args: []value{v, other}})
}

// lifetimes returns, by value, the last instruction that needs it: a value from before a loop is needed until the
// loop ends.
func (k *kernel) lifetimes() []int {
	var open []int            // first instructions of the loops around one, the outermost first
	around := map[int][]int{} // by instruction
	ends := map[int]int{}     // of a loop, by its first instruction
	for i, c := range k.code {
		switch c.op {
		case opLoop, opTimes:
			open = append(open, i)
		case opEndLoop, opEndTimes:
			ends[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
		around[i] = slices.Clone(open)
	}
	born, last := make([]int, k.values+1), make([]int, k.values+1)
	for i, c := range k.code {
		if born[c.dst] == 0 {
			born[c.dst] = i
		}
		for _, a := range c.args {
			last[a] = max(last[a], i)
			for _, begin := range around[i] {
				if born[a] < begin {
					last[a] = max(last[a], ends[begin])
				}
			}
		}
	}
	for v := range k.changing {
		last[v] = len(k.code)
	}
	return last
}
