package main

import "strings"

// dropouts are the kernels of elements.go that draw random numbers.
var dropouts = []routine{
	dropout("keep", "Keep", "y", func(k *kernel, factor value, _ ...scalar) value { return factor }),
	dropout("drop", "Drop", "y, x", func(k *kernel, factor value, in ...scalar) value {
		return k.mul(factor, k.load(in[0]))
	}),
	dropout("dropAdd", "DropAdd", "y, x, residual", func(k *kernel, factor value, in ...scalar) value {
		return k.add(k.load(in[1]), k.mul(factor, k.load(in[0])))
	}),
}

// dropout writes a kernel that stores, for each element, what f makes of its factor and the inputs.
func dropout(name, field, pointers string, f func(k *kernel, factor value, in ...scalar) value) routine {
	return routine{
		name: name, doc: "is Elements." + field + ".",
		signature: "func(n int, " + pointers + " *float32, counter [4]uint32, key [2]uint32, drop uint32, factor float32)",
		write: func(k *kernel) {
			var moving []scalar
			for _, p := range strings.Split(pointers, ", ") {
				moving = append(moving, k.pointer(p))
			}
			counter := k.variables(1, k.addInt(k.argumentAt("counter", 0), k.pattern(counters(k.lanes))))[0]
			k.hold(20)
			var words []value
			k.each(k.count("n"), 4, func(u int) {
				if u == 0 {
					words = philox(k, counter, (k.turn+1)/2)
				}
				factor := k.where(k.atLeast(words[u], k.argument("drop")), k.argument("factor"))
				k.store(moving[0], f(k, factor, moving[1:]...))
				if u == k.turn-1 {
					k.set(counter, k.addInt(counter, k.bits(uint32(k.turn*k.lanes/4))))
				}
			}, moving...)
		},
	}
}

// counters are the offsets of the counters in 64-bit lanes: in those that are first of two, one after the other, then
// in the second ones.
func counters(lanes int) []uint32 {
	c := make([]uint32, lanes)
	for i := range lanes / 4 {
		c[4*i], c[4*i+2] = uint32(i), uint32(lanes/4+i)
	}
	return c
}

// philox writes the words that Philox4x32-10 draws for counters, one in each 64-bit lane as of [counters], and for
// those behind them: two vectors for each of so many groups, four words for a counter after the other. Groups go side
// by side, for a processor to have work while it waits for a product. Of a 64-bit lane, its low half counts.
func philox(k *kernel, counter value, groups int) []value {
	const (
		mul0, mul1   = 0xD2511F53, 0xCD9E8D57
		weyl0, weyl1 = 0x9E3779B9, 0xBB67AE85
	)
	blocks := make([][4]value, groups)
	for g := range blocks {
		first := counter
		if g > 0 {
			first = k.addInt(counter, k.bits(uint32(g*k.lanes/2)))
		}
		blocks[g] = [4]value{first, k.argumentAt("counter", 1), k.argumentAt("counter", 2), k.argumentAt("counter", 3)}
	}
	for round := range uint32(10) {
		key0 := k.addInt(k.argumentAt("key", 0), k.bits(round*weyl0))
		key1 := k.addInt(k.argumentAt("key", 1), k.bits(round*weyl1))
		for g, c := range blocks {
			a, b := k.mulEven(c[0], k.bits(mul0)), k.mulEven(c[2], k.bits(mul1))
			blocks[g] = [4]value{k.xor3(k.highWord(b), c[1], key0), b, k.xor3(k.highWord(a), c[3], key1), a}
		}
	}
	var words []value
	for _, c := range blocks {
		first, second := k.pairs(c[0], c[1]), k.pairs(c[2], c[3])
		words = append(words, k.lowPairs(first, second), k.highPairs(first, second))
	}
	return words
}
