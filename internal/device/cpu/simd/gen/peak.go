package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// peaks writes the kernels of peaks.go.
func peaks(c *build.Context) {
	for _, s := range []isa{avx512, avx2} {
		multiplyAdds(c, s)
		read(c, s)
	}
}

// peakSums is the number of independent sums: more than the processor's multiply-adds in flight, two for
// each of four cycles.
const peakSums = 12

// multiplyAdds is a loop of nothing but multiply-adds that do not wait for each other: sum*1 + 1, so that
// the sums count them.
func multiplyAdds(c *build.Context, s isa) {
	const unroll = 4
	function(c, "multiplyAdds"+s.suffix, fmt.Sprintf("makes %d multiply-adds in each of turns and adds up their "+
		"number, lane by lane, into %d counts.", peakSums*unroll*s.lanes(), s.lanes()), "func(turns int, counts *float32)")
	turns := argument(c, "turns")
	sums := cleared(c, s, peakSums)
	one, bits := s.vec(c), c.GP32()
	c.MOVL(operand.U32(0x3f800000), bits) // 1
	x := c.XMM()
	c.VMOVD(bits, x)
	c.VBROADCASTSS(x, one)
	align(c)
	c.Label("turn")
	for range unroll {
		for _, sum := range sums {
			c.VFMADD132PS(one, one, sum)
		}
	}
	c.DECQ(turns)
	c.JNZ(operand.LabelRef("turn"))
	storeSum(c, sums, argument(c, "counts"))
}

// readBytes is what a turn of read reads, and readStreams the places that it reads at: the memory in as many
// parts, as the processor fetches ahead at several places faster than at one.
const (
	readBytes   = 512
	readStreams = 4
)

// read adds up memory as fast as it comes.
func read(c *build.Context, s isa) {
	function(c, "read"+s.suffix, fmt.Sprintf("adds up turns times %d floats, lane by lane, into %d sums.",
		readBytes/4, s.lanes()), "func(turns int, p, sums *float32)")
	const part = readBytes / readStreams // of a stream in a turn
	turns, length := argument(c, "turns"), c.GP64()
	c.IMUL3Q(operand.U32(part), turns, length)
	streams := []reg.GPVirtual{argument(c, "p")}
	for len(streams) < readStreams {
		next := c.GP64()
		c.LEAQ(operand.Mem{Base: streams[len(streams)-1], Index: length, Scale: 1}, next)
		streams = append(streams, next)
	}
	sums := cleared(c, s, 8)
	align(c)
	c.Label("turn")
	for i, p := range streams {
		for at := 0; at < part; at += s.bytes {
			if at%64 == 0 {
				c.PREFETCHT0(operand.Mem{Base: p, Disp: at + readAhead})
			}
			sum := sums[(i*part+at)/s.bytes%len(sums)]
			c.VADDPS(operand.Mem{Base: p, Disp: at}, sum, sum)
		}
		c.ADDQ(operand.U32(part), p)
	}
	c.DECQ(turns)
	c.JNZ(operand.LabelRef("turn"))
	storeSum(c, sums, argument(c, "sums"))
}

// readAhead is how far before its use memory is asked for. It may lie beyond what is read: asking is never an
// access.
const readAhead = 1024

// cleared returns n cleared registers.
func cleared(c *build.Context, s isa, n int) []reg.VecVirtual {
	v := s.vecs(c, n)
	for _, r := range v {
		c.VXORPS(r, r, r)
	}
	return v
}

// storeSum writes the sum of registers and ends the function.
func storeSum(c *build.Context, sums []reg.VecVirtual, to reg.Register) {
	for _, r := range sums[1:] {
		c.VADDPS(r, sums[0], sums[0])
	}
	c.VMOVUPS(sums[0], operand.Mem{Base: to})
	c.VZEROUPPER()
	c.RET()
}
