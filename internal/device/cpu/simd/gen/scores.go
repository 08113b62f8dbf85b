package main

// scores are the kernels of scores.go.
var scores = []routine{{
	name: "tops", doc: "is Scores.Tops.",
	signature: "func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale float32, state, change *float32)",
	write:     writeTops,
}, {
	name: "firstTops", doc: "is Scores.FirstTops.",
	signature: "func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale float32, state *float32)",
	write:     writeFirstTops,
}, {
	name: "weights", doc: "is Scores.Weights.",
	signature: "func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale float32, state *float32)",
	write:     writeWeights,
}, {
	name: "deltas", doc: "is Scores.Deltas.",
	signature: "func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale float32, dw, stats, delta *float32)",
	write:     writeDeltas,
}, {
	name: "weightGrad", doc: "is Scores.WeightGrad.",
	signature: "func(s *float32, ld, rows, n, tail int, edge *float32, back int, slope float32, dw, delta *float32)",
	write:     writeWeightGrad,
}, {
	name: "scoreGrad", doc: "is Scores.ScoreGrad.",
	signature: "func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale, slope float32, dw, stats, delta *float32)",
	write:     writeScoreGrad,
}, {
	name: "dotStrips", doc: "is Scores.DotStrips.",
	signature: "func(to, x *float32, ldx int, y *float32, ldy, rows, n int)",
	write: func(k *kernel) {
		const unroll = 4
		to, x, ldx, y, ldy, n := k.pointer("to"), k.pointer("x"), k.count("ldx"), k.pointer("y"), k.count("ldy"), k.count("n")
		k.times(k.count("rows"), func() {
			p, q := k.copy(x), k.copy(y)
			sums := k.variables(unroll, k.constant(0))
			k.each(n, unroll, func(u int) {
				k.set(sums[u], k.fma(k.load(p), k.load(q), sums[u]))
			}, p, q)
			k.storeOne(to, 0, k.sum(k.reduce(k.add, sums)))
			k.skip(to, 4)
			k.advance(x, ldx)
			k.advance(y, ldy)
		})
	},
}, {
	name: "addStrip", doc: "is Scores.AddStrip.",
	signature: "func(y *float32, ldy int, x *float32, ldx, rows, n int)",
	write:     func(k *kernel) { writeJoin(k, k.add) },
}, {
	name: "multiplyStrip", doc: "is Scores.MultiplyStrip.",
	signature: "func(y *float32, ldy int, x *float32, ldx, rows, n int)",
	write:     func(k *kernel) { writeJoin(k, k.mul) },
}, {
	name: "scaleStrip", doc: "is Scores.ScaleStrip.",
	signature: "func(y *float32, ldy int, x *float32, ldx, rows, n int, factor *float32, step int)",
	write: func(k *kernel) {
		y, ldy, x, ldx, n := k.pointer("y"), k.count("ldy"), k.pointer("x"), k.count("ldx"), k.count("n")
		factor, step := k.pointer("factor"), k.count("step")
		k.times(k.count("rows"), func() {
			p, q, f := k.copy(y), k.copy(x), k.loadOne(factor, 0)
			k.each(n, 4, func(int) { k.store(p, k.mul(k.load(q), f)) }, p, q)
			k.advance(y, ldy)
			k.advance(x, ldx)
			k.advance(factor, step)
		})
	},
}}

// scoreRows walks over the rows of a strip. All rows take the same turns, so that the processor foresees them: n
// elements that count, and tail elements of which an edge, in memory, tells which count: it is +Inf or -Inf.
type scoreRows struct {
	*kernel
	s, ld, rows, n, tail, edge, back scalar
}

func newScoreRows(k *kernel) *scoreRows {
	return &scoreRows{k, k.pointer("s"), k.count("ld"), k.count("rows"), k.count("n"), k.count("tail"), k.pointer("edge"), k.count("back")}
}

// each runs body for each row.
func (r *scoreRows) each(body func()) {
	r.times(r.rows, func() {
		body()
		r.advance(r.s, r.ld)
		r.advance(r.edge, r.back)
	})
}

const scoreTurn = 4 // vectors of a turn

// row runs body for the elements of a row, at s and at more pointers. In the tail it is told which count, else counts
// is 0: all.
func (r *scoreRows) row(body func(u int, s scalar, counts mask), more ...scalar) {
	s := r.copy(r.s)
	r.kernel.each(r.n, scoreTurn, func(u int) { body(u, s, 0) }, append(more, s)...)
	edge := r.copy(r.edge)
	r.kernel.each(r.tail, 1, func(int) { body(0, s, r.notLess(r.load(edge), r.constant(0))) }, append(more, s, edge)...)
}

// score loads the score at s, -Inf where it does not count.
func (r *scoreRows) score(s scalar, counts mask) value {
	if counts == 0 {
		return r.load(s)
	}
	return r.choose(counts, r.load(s), r.bits(minusInf))
}

// counting is v, 0 where it does not count.
func (r *scoreRows) counting(v value, counts mask) value {
	if counts == 0 {
		return v
	}
	return r.where(counts, v)
}

const minusInf = 0xff800000 // as bits of a float32

// expWeight writes e^x for x <= 0 with an error of 2e-7, but 0 where that is less than 2^-72: float32 sums of
// weights do not notice it, and products with numbers near the smallest take a hundred times as long. NaN stays.
func expWeight(k *kernel, x value) value {
	const (
		least = -49.9
		ln2   = 0.693147180559945309
	)
	counts := k.notLess(x, k.constant(least))
	n := timesLn2(k, x)
	p := k.polynomial(k.fnma(n, k.constant(ln2), x), weightCoefficients...)
	return k.where(counts, k.scale2(p, n))
}

// weightCoefficients are those of e^r for |r| <= ln2/2, from r^0: a minimax fit of the relative error, 1e-7, with the
// first two fixed at 1.
var weightCoefficients = []float64{1, 1, 0.49999231, 0.16667115, 0.04189016, 0.00831252}

func writeTops(k *kernel) {
	r, scale, state, change := newScoreRows(k), k.argument("scale"), k.pointer("state"), k.pointer("change")
	r.each(func() {
		before := k.loadOne(state, 0)
		top := k.max(k.mul(writeTop(r), scale), before)
		grown := expWeight(k, k.sub(before, finiteTop(k, top)))
		k.storeOne(state, 0, top)
		k.storeOne(state, 4, k.mul(k.loadOne(state, 4), grown))
		k.storeOne(change, 0, grown)
		k.skip(state, 8)
		k.skip(change, 4)
	})
}

// writeTop writes the largest score of a row.
func writeTop(r *scoreRows) value {
	tops := r.variables(scoreTurn, r.bits(minusInf))
	r.row(func(u int, s scalar, counts mask) { r.set(tops[u], r.max(r.score(s, counts), tops[u])) })
	return r.largest(r.reduce(r.max, tops))
}

func writeFirstTops(k *kernel) {
	r, scale, state := newScoreRows(k), k.argument("scale"), k.pointer("state")
	r.each(func() {
		k.storeOne(state, 0, k.mul(writeTop(r), scale))
		k.storeOne(state, 4, k.constant(0))
		k.skip(state, 8)
	})
}

func writeWeights(k *kernel) {
	r, scale, state := newScoreRows(k), k.argument("scale"), k.pointer("state")
	k.hold(12)
	r.each(func() {
		shift, sums := finiteTop(k, k.loadOne(state, 0)), k.variables(scoreTurn, k.constant(0))
		r.row(func(u int, s scalar, counts mask) {
			w := expWeight(k, k.sub(k.mul(r.score(s, counts), scale), shift))
			k.store(s, w)
			k.set(sums[u], k.add(sums[u], w))
		})
		k.storeOne(state, 4, k.add(k.loadOne(state, 4), k.sum(k.reduce(k.add, sums))))
		k.skip(state, 8)
	})
}

// finiteTop writes top, but 0 for -Inf, the maximum of scores that are all -Inf.
func finiteTop(k *kernel, top value) value {
	return k.where(k.notLess(top, k.bits(0xff7fffff)), top) // the least finite number
}

func writeScoreGrad(k *kernel) {
	r, scale, slope := newScoreRows(k), k.argument("scale"), k.argument("slope")
	dw, stats, delta := k.pointer("dw"), k.pointer("stats"), k.pointer("delta")
	k.hold(12)
	r.each(func() {
		shift, inv, sub := k.loadOne(stats, 0), k.loadOne(stats, 4), k.loadOne(delta, 0)
		steep := k.mul(inv, slope)
		ds := k.copy(dw)
		r.row(func(_ int, s scalar, counts mask) {
			e := expWeight(k, k.sub(k.mul(r.score(s, counts), scale), shift))
			k.store(s, k.mul(e, inv))
			k.store(ds, r.counting(k.mul(k.mul(e, steep), k.sub(k.load(ds), sub)), counts))
		}, ds)
		k.advance(dw, r.ld)
		k.skip(stats, 8)
		k.skip(delta, 4)
	})
}

func writeDeltas(k *kernel) {
	r, scale, dw, stats, delta := newScoreRows(k), k.argument("scale"), k.pointer("dw"), k.pointer("stats"), k.pointer("delta")
	k.hold(12)
	r.each(func() {
		shift, inv, sums := k.loadOne(stats, 0), k.loadOne(stats, 4), k.variables(scoreTurn, k.constant(0))
		q := k.copy(dw)
		r.row(func(u int, s scalar, counts mask) {
			w := k.mul(expWeight(k, k.sub(k.mul(r.score(s, counts), scale), shift)), inv)
			k.store(s, w)
			k.set(sums[u], k.fma(w, r.counting(k.load(q), counts), sums[u]))
		}, q)
		k.storeOne(delta, 0, k.sum(k.reduce(k.add, sums)))
		k.skip(delta, 4)
		k.skip(stats, 8)
		k.advance(dw, r.ld)
	})
}

func writeWeightGrad(k *kernel) {
	r, slope, dw, delta := newScoreRows(k), k.argument("slope"), k.pointer("dw"), k.pointer("delta")
	r.each(func() {
		sub, ds := k.loadOne(delta, 0), k.copy(dw)
		r.row(func(_ int, s scalar, counts mask) {
			k.store(ds, r.counting(k.mul(k.mul(k.load(s), slope), k.sub(k.load(ds), sub)), counts))
		}, ds)
		k.advance(dw, r.ld)
		k.skip(delta, 4)
	})
}

// writeJoin writes y = f(y, x) for rows of y and x.
func writeJoin(k *kernel, f func(a, b value) value) {
	y, ldy, x, ldx, n := k.pointer("y"), k.count("ldy"), k.pointer("x"), k.count("ldx"), k.count("n")
	k.times(k.count("rows"), func() {
		p, q := k.copy(y), k.copy(x)
		k.each(n, 4, func(int) { k.store(p, f(k.load(p), k.load(q))) }, p, q)
		k.advance(y, ldy)
		k.advance(x, ldx)
	})
}
