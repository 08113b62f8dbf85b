package main

import "fmt"

// neonPeaks writes the kernels of peaks.go.
func neonPeaks(a *arm) {
	neonMultiplyAdds(a)
	neonRead(a)
}

// neonMultiplyAdds is multiplyAdds with more sums: four for each of four cycles on the widest processors.
func neonMultiplyAdds(a *arm) {
	const sums, unroll = 24, 4
	a.function("multiplyAddsNEON", fmt.Sprintf("makes %d multiply-adds in each of turns and adds up their "+
		"number, lane by lane, into 4 counts.", 4*sums*unroll), "func(turns int, counts *float32)")
	turns := a.argument("turns")
	v, one := a.vregs(sums), a.vreg()
	a.zero(v...)
	a.ins("FMOVS", "$1.0", one.f())
	a.spread(one)
	turn := a.newLabel("turn")
	a.loop(turn)
	for range unroll {
		for _, s := range v {
			a.fmla(s, one, one)
		}
	}
	a.countDown(turns, turn)
	neonStoreSum(a, v, a.argument("counts"))
}

func neonRead(a *arm) {
	a.function("readNEON", fmt.Sprintf("adds up turns times %d floats, lane by lane, into 4 sums.", readBytes/4),
		"func(turns int, p, sums *float32)")
	turns, p := a.argument("turns"), a.argument("p")
	sums, read := a.vregs(8), a.vregs(8)
	a.zero(sums...)
	turn := a.newLabel("turn")
	a.loop(turn)
	for at := 0; at < readBytes; at += 16 * len(read) {
		for i := 0; i < len(read); i += 2 {
			a.nextPair(read[i], read[i+1], p)
		}
		for i, r := range read {
			a.fadd(sums[i], sums[i], r)
		}
	}
	a.countDown(turns, turn)
	neonStoreSum(a, sums, a.argument("sums"))
}

// neonStoreSum writes the sum of registers and ends the function.
func neonStoreSum(a *arm, sums []vreg, to xreg) {
	for _, s := range sums[1:] {
		a.fadd(sums[0], sums[0], s)
	}
	a.store(4, sums[0], to, 0)
	a.ins("RET")
}
