package cpu

import (
	"math"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// fusedGrad is the vector form of AttentionGrad. A worker takes a part of the keys of one head, block by block,
// and walks over the queries that see them; it computes their weights again from stats. Gradients of keys and
// values are its own; those of queries it adds up, and where the keys are in parts the sums of the parts are
// added up afterwards.
type fusedGrad struct {
	*fused
	dy, dq, dk, dvs headed[float32]
	size            int   // queries of a tile
	bounds          []int // keys of part p: bounds[p] to bounds[p+1]-1
	partial         []float32
	whole           bool // all keys that a query sees are in one block

	// In the scratch memory of a worker; cols are a tile's columns:
	keysT, valuesT region // packed (block/cols, D, cols) and (block/cols, Dv, cols)
	keys           region // packed (D/cols, block, cols)
	qs, dys        region // packed (D/cols, size, cols) and (Dv/cols, size, cols)
	weights, dws   region // (size, scoreRow): scores and weights; gradients of weights and of scores
	factors        region // of dropout, (rows of a tile, scoreRow)
	delta          region // (size)
}

const (
	gradQueries = 128 // queries of a tile, or little more
	gradTasks   = 16  // number of heads below which the keys are divided
	gradKeys    = 256 // least keys of a part
)

func (f *fused) backward(dy, dq, dk, dv headed[float32]) device.Launch {
	g := &fusedGrad{fused: f, dy: dy, dq: dq, dk: dk, dvs: dv, size: evenly(f.tq, gradQueries, f.set.TileRows)}
	g.divide()
	var l layout
	g.keysT = l.take(f.block * f.d)
	g.valuesT = l.take(f.block * f.dv)
	g.keys = l.take(f.packed(f.block, f.d))
	g.qs = l.take(f.packed(g.size, f.d))
	g.dys = l.take(f.packed(g.size, f.dv))
	g.weights = l.take(g.size * f.scoreRow())
	g.dws = l.take(g.size * f.scoreRow())
	if f.keep != nil {
		g.factors = l.take(f.set.TileRows * f.scoreRow())
	}
	g.delta = l.take(g.size)
	f.dev.reserve(4 * l.used)
	parts := len(g.bounds) - 1
	walk := f.dev.parallel(f.b*f.h*parts, g.part)
	if dq.data == nil || parts == 1 {
		return walk
	}
	g.partial = make([]float32, f.b*f.h*(parts-1)*f.tq*f.d)
	return inTurn(walk, f.dev.parallel(f.b*f.h*chunksOf(f.tq, gradQueries), g.fold))
}

// divide divides the keys in parts of about equal work, by shapes alone. With a causal mask key j is seen by
// seen-j queries or so.
func (g *fusedGrad) divide() {
	parts := max(1, min(chunksOf(gradTasks, g.b*g.h), g.seen/gradKeys))
	for p := range parts {
		at := float64(p) / float64(parts)
		if g.Causal {
			at = 1 - math.Sqrt(1-at)
		}
		g.bounds = append(g.bounds, int(at*float64(g.seen))/g.set.TileCols*g.set.TileCols)
	}
	g.bounds = append(g.bounds, g.seen)
	g.whole = parts == 1 && g.seen <= g.block
}

// part computes the gradients of a part of the keys and values of one head, and what they add to those of the
// queries.
func (g *fusedGrad) part(chunk, worker int) {
	parts := len(g.bounds) - 1
	bh, part := chunk/parts, chunk%parts
	b, h := bh/g.h, bh%g.h
	dq := g.dq.at(b, h)
	if part > 0 && dq.data != nil {
		dq = g.partOf(bh, part)
	}
	from, to := g.bounds[part], g.bounds[part+1]
	for j := from; j < to; j += g.block {
		g.keyBlock(scratchOf[float32](g.dev, worker), dq, b, h, j, min(g.block, to-j), j == from)
	}
	if part == parts-1 {
		for j := g.seen; j < g.tk; j++ { // keys that no query sees
			g.dk.at(b, h).clear(j)
			g.dvs.at(b, h).clear(j)
		}
	}
}

// partOf returns the gradients of the queries (Tq, D) that a part of the keys other than the first causes; those
// that the part does not concern are not set.
func (g *fusedGrad) partOf(bh, part int) matrix[float32] {
	at := bh*(len(g.bounds)-2) + part - 1
	return matrix[float32]{g.partial[at*g.tq*g.d:][:g.tq*g.d], g.d, g.d}
}

// keyBlock computes the gradients of the keys and values j to j+n-1, and adds what they cause to dq, or sets it
// if they are the first.
func (g *fusedGrad) keyBlock(scratch []float32, dq matrix[float32], b, h, j, n int, first bool) {
	k, v := g.k.at(b, h).from(j), g.v.at(b, h).from(j)
	g.packColumns(g.keysT.of(scratch), k, n)
	g.packColumns(g.valuesT.of(scratch), v, n)
	exact := false
	if dq.data != nil {
		g.packRows(g.keys.of(scratch), k, n)
		exact = g.Causal && !g.finite(g.keys.of(scratch)[:g.packed(n, g.d)], g.delta.of(scratch))
	}
	for i := g.seenFrom(j); i < g.tq; i += g.size {
		rows := min(g.size, g.tq-i)
		g.weigh(scratch, b, h, i, rows, j, n)
		g.addKeys(scratch, b, h, i, rows, j, n)
		if dq.data != nil {
			g.addQueries(scratch, dq, i, rows, j, n, first, exact)
		}
	}
}

// seenFrom returns the first query that sees key j.
func (g *fusedGrad) seenFrom(j int) int {
	if g.Causal {
		return j
	}
	return 0
}

// weigh computes the weights after dropout of the queries i to i+rows-1 for the keys j to j+n-1, and the
// gradients of their scores.
func (g *fusedGrad) weigh(scratch []float32, b, h, i, rows, j, n int) {
	q, dy := g.q.at(b, h).from(i), g.dy.at(b, h).from(i)
	w, ds, row := g.weights.of(scratch), g.dws.of(scratch), g.scoreRow()
	delta := g.delta.of(scratch)
	if !g.whole {
		y := g.y.at(b, h)
		g.set.DotStrips(&delta[0], &y.data[i*y.row], 4*y.row, &dy.data[0], 4*dy.row, rows, g.dv)
	}
	for r := 0; r < rows; r += g.set.TileRows {
		m := min(g.set.TileRows, rows-r)
		k := g.reach(i+r+m, j, n)
		s, dw := w[r*row:], ds[r*row:]
		g.product(m, k, g.d, &q.data[r*q.row], q.row, 1, g.keysT.of(scratch), g.d*g.set.TileCols, &s[0], row, false)
		g.product(m, k, g.dv, &dy.data[r*dy.row], dy.row, 1, g.valuesT.of(scratch), g.dv*g.set.TileCols, &dw[0], row, false)
		scale := g.maskStrip(s, b, h, i+r, m, j, k)
		f := g.factors.of(scratch)
		if g.keep != nil {
			g.factorStrip(f, b, h, i+r, m, j, k)
			g.set.MultiplyStrip(&dw[0], 4*row, &f[0], 4*row, m, k)
		}
		g.grad(s, dw, i+r, m, j, n, scale, &g.stats[((b*g.h+h)*g.tq+i+r)*2], &delta[r])
		g.stopStrip(dw, b, h, i+r, m, j, k)
		if g.keep != nil {
			g.set.MultiplyStrip(&s[0], 4*row, &f[0], 4*row, m, k)
		}
	}
}

// grad turns the scores of a strip into weights and their gradients dw into those of the scores.
func (g *fusedGrad) grad(s, dw []float32, i, rows, j, n int, scale float32, stats, delta *float32) {
	slope := g.slope(i, rows, j, n)
	if slope > 0 {
		g.gradRows(s, dw, slope, i+1-j, g.reach(i+rows, j, n), -4, scale, stats, delta)
	}
	if slope < rows {
		at := slope * g.scoreRow()
		g.gradRows(s[at:], dw[at:], rows-slope, n, n, 0, scale, step(stats, 2*slope), step(delta, slope))
	}
}

func (g *fusedGrad) gradRows(s, dw []float32, rows, count, wide, back int, scale float32, stats, delta *float32) {
	row := 4 * g.scoreRow()
	n, tail, edge := simd.Edge(count, wide)
	if !g.whole {
		g.set.ScoreGrad(&s[0], row, rows, n, tail, edge, back, scale, g.scale, &dw[0], stats, delta)
		return
	}
	g.set.Deltas(&s[0], row, rows, n, tail, edge, back, scale, &dw[0], stats, delta)
	g.set.WeightGrad(&s[0], row, rows, n, tail, edge, back, g.scale, &dw[0], delta)
}

// addKeys adds to the gradients of the keys and values j to j+n-1 what the queries i to i+rows-1 cause. Where
// they are the first to see a key they set them.
func (g *fusedGrad) addKeys(scratch []float32, b, h, i, rows, j, n int) {
	qs, dys := g.qs.of(scratch)[:g.packed(rows, g.d)], g.dys.of(scratch)[:g.packed(rows, g.dv)]
	g.packRows(qs, g.q.at(b, h).from(i), rows)
	g.packRows(dys, g.dy.at(b, h).from(i), rows)
	square := g.delta.of(scratch)
	exact := g.Causal && i < j+n && !(g.finite(qs, square) && g.finite(dys, square))
	if g.dk.data != nil {
		g.addKeyRows(g.dk.at(b, h), g.dws.of(scratch), qs, i, rows, j, n, exact)
	}
	if g.dvs.data != nil {
		g.addKeyRows(g.dvs.at(b, h), g.weights.of(scratch), dys, i, rows, j, n, exact)
	}
}

// addKeyRows adds to rows j to j+n-1 of sum the products of the transposed scores s and the packed rows x. With
// exact no weight is multiplied with a query that does not see the key.
func (g *fusedGrad) addKeyRows(sum matrix[float32], s, x []float32, i, rows, j, n int, exact bool) {
	row, cols := g.scoreRow(), g.set.TileCols
	strip := g.set.TileRows
	for at := 0; at < n; at += strip {
		m := min(strip, n-at)
		from := max(0, g.seenFrom(j+at)-i) // the first query that sees key j+at
		if from >= rows {
			return
		}
		add := i > g.seenFrom(j+at)
		if !exact {
			g.product(m, sum.width, rows-from, &s[from*row+at], 1, row, x[from*cols:], rows*cols, &sum.data[(j+at)*sum.row], sum.row, add)
			continue
		}
		for c := at; c < at+m; c++ {
			switch from := max(0, g.seenFrom(j+c)-i); {
			case from < rows:
				g.product(1, sum.width, rows-from, &s[from*row+c], 1, row, x[from*cols:], rows*cols, &sum.data[(j+c)*sum.row], sum.row, add)
			case !add:
				sum.clear(j + c)
			}
		}
	}
}

// addQueries adds to the gradients of the queries i to i+rows-1 what the keys j to j+n-1 cause. With exact no
// weight of 0 is multiplied with a key of the future.
func (g *fusedGrad) addQueries(scratch []float32, dq matrix[float32], i, rows, j, n int, first, exact bool) {
	ds, row, cols := g.dws.of(scratch), g.scoreRow(), g.set.TileCols
	strip := g.set.TileRows
	if exact {
		strip = 1
	}
	for r := 0; r < rows; r += strip {
		m := min(strip, rows-r)
		switch k := g.reach(i+r+m, j, n); {
		case k > 0:
			g.product(m, g.d, k, &ds[r*row], row, 1, g.keys.of(scratch), n*cols, &dq.data[(i+r)*dq.row], dq.row, !first)
		case first:
			dq.clear(i + r)
		}
	}
}

// fold adds up the parts of the gradients of some queries of one head, in order.
func (g *fusedGrad) fold(chunk, _ int) {
	tiles := chunksOf(g.tq, gradQueries)
	bh := chunk / tiles
	from, to := chunkRange(chunk%tiles, gradQueries, g.tq)
	sum := g.dq.at(bh/g.h, bh%g.h)
	for p := 1; p < len(g.bounds)-1; p++ {
		more, i := g.partOf(bh, p), max(from, g.seenFrom(g.bounds[p]))
		if i < to {
			g.set.AddStrip(&sum.data[i*sum.row], 4*sum.row, &more.data[i*more.row], 4*more.row, to-i, g.d)
		}
	}
}
