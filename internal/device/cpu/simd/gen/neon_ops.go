package main

import "fmt"

// The vector instructions of arm64 by their mnemonics, each over four floats or 32-bit lanes unless said
// otherwise. Those that Go's assembler lacks are written as words: encodings of the Arm Architecture
// Reference Manual, C7.2. A test disassembles what was written.

// v4, v2 and b16 are the register as four 32-bit lanes, two of 64 bits, and bytes (for bit operations), in
// Go's spelling; pair is two registers loaded or stored together.
func (r vreg) v4() string  { return fmt.Sprintf("V%d.S4", int(r)) }
func (r vreg) v2() string  { return fmt.Sprintf("V%d.D2", int(r)) }
func (r vreg) b16() string { return fmt.Sprintf("V%d.B16", int(r)) }

func pair(d, e vreg) string { return fmt.Sprintf("(%s, %s)", d.f(), e.f()) }

// three writes d = n op m, encoded by base.
func (a *arm) three(op string, base uint32, d, n, m vreg) {
	a.word(base|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s v%d.4s, v%d.4s, v%d.4s", op, d, n, m)
}

// two writes d = op n, encoded by base.
func (a *arm) two(op string, base uint32, d, n vreg) {
	a.word(base|uint32(n)<<5|uint32(d), "%s v%d.4s, v%d.4s", op, d, n)
}

func (a *arm) fadd(d, n, m vreg) { a.three("fadd", 0x4e20d400, d, n, m) }

// faddp is the sums of neighbours, those of n and then those of m.
func (a *arm) faddp(d, n, m vreg) { a.three("faddp", 0x6e20d400, d, n, m) }

// fmla is d += n * m.
func (a *arm) fmla(d, n, m vreg) { a.ins("VFMLA", m.v4(), n.v4(), d.v4()) }

// fmlaLane is d += n * m[lane].
func (a *arm) fmlaLane(d, n, m vreg, lane int) {
	i := uint32(lane)
	a.word(0x4f801000|i&1<<21|uint32(m)<<16|i>>1<<11|uint32(n)<<5|uint32(d),
		"fmla v%d.4s, v%d.4s, v%d.s[%d]", d, n, m, lane)
}

// zero clears registers.
func (a *arm) zero(d ...vreg) {
	for _, r := range d {
		a.ins("VEOR", r.b16(), r.b16(), r.b16())
	}
}

// move is d = n.
func (a *arm) move(d, n vreg) {
	if d != n {
		a.ins("VMOV", n.b16(), d.b16())
	}
}

// spread copies the first lane to the others.
func (a *arm) spread(d vreg) { a.ins("VDUP", fmt.Sprintf("V%d.S[0]", int(d)), d.v4()) }

// load loads the n floats, 1 to 4, at bytes from base into the first lanes and clears the others.
func (a *arm) load(n int, d vreg, base xreg, bytes int) {
	switch n {
	case 1:
		a.ins("FMOVS", mem(base, bytes), d.f())
	case 2:
		a.ins("FMOVD", mem(base, bytes), d.f())
	case 3:
		a.ins("FMOVD", mem(base, bytes), d.f())
		a.ins("ADD", immediate(bytes+8), base, scratch)
		a.ins("VLD1", mem(scratch, 0), fmt.Sprintf("V%d.S[2]", int(d)))
	case 4:
		a.ins("FMOVQ", mem(base, bytes), d.f())
	}
}

// store stores the first n lanes, 1 to 4, at bytes from base.
func (a *arm) store(n int, d vreg, base xreg, bytes int) {
	switch n {
	case 1:
		a.ins("FMOVS", d.f(), mem(base, bytes))
	case 2:
		a.ins("FMOVD", d.f(), mem(base, bytes))
	case 3:
		a.ins("FMOVD", d.f(), mem(base, bytes))
		a.ins("ADD", immediate(bytes+8), base, scratch)
		a.ins("VST1", fmt.Sprintf("V%d.S[2]", int(d)), mem(scratch, 0))
	case 4:
		a.ins("FMOVQ", d.f(), mem(base, bytes))
	}
}

// loadPair loads eight floats and storePair stores them; nextPair loads them and moves base behind them.
func (a *arm) loadPair(d, e vreg, base xreg, bytes int) { a.ins("FLDPQ", mem(base, bytes), pair(d, e)) }
func (a *arm) storePair(d, e vreg, base xreg, bytes int) {
	a.ins("FSTPQ", pair(d, e), mem(base, bytes))
}
func (a *arm) nextPair(d, e vreg, base xreg) { a.ins("FLDPQ.P", "32"+mem(base, 0), pair(d, e)) }

// transpose makes columns of rows, both four registers, through the four of t.
func (a *arm) transpose(columns, rows, t []vreg) {
	for i := 0; i < 4; i += 2 {
		a.ins("VTRN1", rows[i+1].v4(), rows[i].v4(), t[i].v4())
		a.ins("VTRN2", rows[i+1].v4(), rows[i].v4(), t[i+1].v4())
	}
	for i := range 2 {
		a.ins("VZIP1", t[i+2].v2(), t[i].v2(), columns[i].v2())
		a.ins("VZIP2", t[i+2].v2(), t[i].v2(), columns[i+2].v2())
	}
}

// countDown ends a turn of a loop: to label unless n becomes 0.
func (a *arm) countDown(n xreg, label string) {
	a.ins("SUBS", "$1", n)
	a.ins("BNE", label)
}
