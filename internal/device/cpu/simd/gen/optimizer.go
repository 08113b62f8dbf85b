package main

// optimizers are the kernels of elements.go that update parameters.
var optimizers = []routine{{
	name: "adamW", doc: "is Elements.AdamW.", signature: "func(n int, w, m, v, grad, factors *float32)",
	write: func(k *kernel) {
		w, m, v, g := k.pointer("w"), k.pointer("m"), k.pointer("v"), k.pointer("grad")
		factors, read := k.pointer("factors"), 0
		factor := func() value { // the next of AdamWFactors
			read++
			return k.loadOne(factors, 4*(read-1))
		}
		scale, blend1, beta2, blend2 := factor(), factor(), factor(), factor()
		root, eps, keep, step := factor(), factor(), factor(), factor()
		k.each(k.count("n"), 2, func(int) {
			grad, before := k.mul(k.load(g), scale), k.load(m)
			mean := k.fma(k.sub(grad, before), blend1, before)
			square := k.fma(k.mul(blend2, grad), grad, k.mul(k.load(v), beta2))
			k.store(m, mean)
			k.store(v, square)
			denominator := k.fma(k.sqrt(square), root, eps)
			k.store(w, k.fma(k.load(w), keep, k.div(k.mul(step, mean), denominator)))
		}, w, m, v, g)
	},
}}
