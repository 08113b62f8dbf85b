package cpu

import (
	"math"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// fusedForward is the vector form of Attention. A worker takes a tile of queries of one head and keeps, while
// it walks over the keys, of each query the maximum and the sum so far and the weighted sum of the values.
type fusedForward struct {
	*fused
	size int // queries of a tile

	// In the scratch memory of a worker:
	keys, values region // packed (block/cols, D, cols) and (Dv/cols, block, cols), where cols is a tile's
	scores       region // (rows of a tile, scoreRow)
	factors      region // of dropout, like scores
	state        region // (size, 2): maximum, sum
	change       region // (rows of a tile)
}

// A tile has forwardQueries at most, so many that packing the keys does not count, but less where there would be
// fewer than forwardTiles.
const (
	forwardQueries = 512
	forwardTiles   = 16
	forwardMin     = 64
)

func (f *fused) forward() device.Launch {
	size := forwardQueries
	for size > forwardMin && f.b*f.h*chunksOf(f.tq, size) < forwardTiles {
		size /= 2
	}
	g := &fusedForward{fused: f, size: evenly(f.tq, size, 1)}
	rows := f.set.TileRows
	var l layout
	g.keys = l.take(f.block * f.d)
	g.values = l.take(f.packed(f.block, f.dv))
	g.scores = l.take(rows * f.scoreRow())
	if f.keep != nil {
		g.factors = l.take(rows * f.scoreRow())
	}
	g.state = l.take(2 * g.size)
	g.change = l.take(rows)
	f.dev.reserve(4 * l.used)
	return f.dev.parallel(f.b*f.h*chunksOf(f.tq, g.size), g.tile)
}

// tile computes y and stats of a tile of queries of one head. The last tiles of the heads, which see most keys,
// come first.
func (g *fusedForward) tile(chunk, worker int) {
	heads := g.b * g.h
	b, h := chunk%heads/g.h, chunk%heads%g.h
	from, to := chunkRange(chunksOf(g.tq, g.size)-1-chunk/heads, g.size, g.tq)
	scratch := scratchOf[float32](g.dev, worker)
	state := g.state.of(scratch)[:2*(to-from)]
	k, v := g.k.at(b, h), g.v.at(b, h)
	keys, values := g.keys.of(scratch), g.values.of(scratch)
	seen := g.visible(to - 1)
	for j := 0; j < seen; j += g.block {
		n := min(g.block, seen-j)
		g.packColumns(keys, k.from(j), n)
		g.packRows(values, v.from(j), n)
		exact := g.Causal && j+n > from && !g.finite(values[:g.packed(n, g.dv)], g.scores.of(scratch))
		for i := from; i < to; i += g.set.TileRows {
			g.strip(scratch, b, h, i, min(g.set.TileRows, to-i), j, n, state[2*(i-from):], exact)
		}
	}
}

// strip takes the keys j to j+n-1 into account for the queries i to i+rows-1. With exact no weight of 0 is
// multiplied with a value of the future.
func (g *fusedForward) strip(scratch []float32, b, h, i, rows, j, n int, state []float32, exact bool) {
	k := g.reach(i+rows, j, n)
	if k == 0 {
		return
	}
	s, row := g.scores.of(scratch), g.scoreRow()
	q, y := g.q.at(b, h), g.y.at(b, h)
	g.product(rows, k, g.d, &q.data[i*q.row], q.row, 1, g.keys.of(scratch), g.d*g.set.TileCols, &s[0], row, false)
	scale := g.maskStrip(s, b, h, i, rows, j, k)
	change := g.change.of(scratch)
	g.weigh(s, i, rows, j, k, scale, state, change)
	if y.data != nil {
		if j > 0 {
			yi := &y.data[i*y.row]
			g.set.ScaleStrip(yi, 4*y.row, yi, 4*y.row, rows, g.dv, &change[0], 4)
		}
		g.addValues(scratch, b, h, i, rows, j, n, k, exact)
	}
	if g.visible(i+rows-1) <= j+n {
		g.finish(state[:2*rows], b, h, i)
	}
}

// addValues adds the values of the first k of the keys j to j+n-1 to y of a strip, by its weights after dropout.
func (g *fusedForward) addValues(scratch []float32, b, h, i, rows, j, n, k int, exact bool) {
	s, row, y := g.scores.of(scratch), g.scoreRow(), g.y.at(b, h)
	if g.keep != nil {
		f := g.factors.of(scratch)
		g.factorStrip(f, b, h, i, rows, j, k)
		g.set.MultiplyStrip(&s[0], 4*row, &f[0], 4*row, rows, k)
	}
	values, panel := g.values.of(scratch), n*g.set.TileCols
	if !exact {
		g.product(rows, g.dv, k, &s[0], row, 1, values, panel, &y.data[i*y.row], y.row, j > 0)
		return
	}
	for r := range rows {
		if k := g.reach(i+r+1, j, n); k > 0 {
			g.product(1, g.dv, k, &s[r*row], row, 1, values, panel, &y.data[(i+r)*y.row], y.row, j > 0)
		}
	}
}

// weigh turns the scores of a strip into weights and updates the state of its queries.
func (g *fusedForward) weigh(s []float32, i, rows, j, n int, scale float32, state, change []float32) {
	slope := g.slope(i, rows, j, n)
	if slope > 0 {
		g.weighRows(s, slope, i+1-j, n, -4, scale, state, change, j == 0)
	}
	if slope < rows {
		g.weighRows(s[slope*g.scoreRow():], rows-slope, n, n, 0, scale, state[2*slope:], change[slope:], j == 0)
	}
}

func (g *fusedForward) weighRows(s []float32, rows, count, wide, back int, scale float32, state, change []float32, first bool) {
	row := 4 * g.scoreRow()
	n, tail, edge := simd.Edge(count, wide)
	if first {
		g.set.FirstTops(&s[0], row, rows, n, tail, edge, back, scale, &state[0])
	} else {
		g.set.Tops(&s[0], row, rows, n, tail, edge, back, scale, &state[0], &change[0])
	}
	g.set.Weights(&s[0], row, rows, n, tail, edge, back, scale, &state[0])
}

// finish turns the state of the queries from i on into stats, and divides y by the sums.
func (g *fusedForward) finish(state []float32, b, h, i int) {
	for r := 0; r < len(state); r += 2 {
		top, sum := state[r], state[r+1]
		if sum != 0 {
			state[r+1] = 1 / sum
		}
		if math.IsInf(float64(top), -1) {
			state[r] = 0
		}
	}
	if g.stats != nil {
		copy(g.stats[((b*g.h+h)*g.tq+i)*2:], state)
	}
	if y := g.y.at(b, h); y.data != nil {
		at := &y.data[i*y.row]
		g.set.ScaleStrip(at, 4*y.row, at, 4*y.row, len(state)/2, g.dv, &state[1], 8)
	}
}
