package cpu

import (
	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// onVectors returns the launch of l by the vector kernel, which writes all three results: those that are not
// wanted to scratch memory, y one row at a time.
func (l *layerNorm[F]) onVectors(d *Device, set *simd.Set) device.Launch {
	wanted := func(x []F) []F {
		if x == nil {
			return make([]F, l.n)
		}
		return x
	}
	mean, rstd := wanted(l.mean), wanted(l.rstd)
	size := rowsPerChunk(l.c)
	rows := rowsAtOnce(d, l.y, size, l.c)
	return d.parallel(chunksOf(l.n, size), func(chunk, worker int) {
		from, to := chunkRange(chunk, size, l.n)
		for r := from; r < to; r += rows {
			set.Norm(min(rows, to-r), l.c, address(l.x[r*l.c:]), address(l.weight), address(l.bias), float32(l.norm.Eps),
				rowsOrScratch(d, worker, l.y, r*l.c), address(mean[r:]), address(rstd[r:]))
		}
	})
}

// onVectors returns the launch of g by the vector kernel, which writes dx, if not wanted to scratch memory, and
// adds to dweight and dbias.
func (g *layerNormGrad[F]) onVectors(d *Device, set *simd.Set) device.Launch {
	g.size = max(rowsPerChunk(g.c), chunksOf(g.n, normChunks))
	chunks := chunksOf(g.n, g.size)
	g.partial = make([]F, chunks*2*g.c)
	rows := rowsAtOnce(d, g.dx, g.size, g.c)
	each := d.parallel(chunks, func(chunk, worker int) {
		from, to := chunkRange(chunk, g.size, g.n)
		sums := g.partial[chunk*2*g.c : (chunk+1)*2*g.c]
		clear(sums)
		for r := from; r < to; r += rows {
			at := r * g.c
			var base *float32
			if g.base != nil {
				base = address(g.base[at:])
			}
			set.NormGrad(min(rows, to-r), g.c, base, address(g.x[at:]), address(g.weight), address(g.mean[r:]), address(g.rstd[r:]),
				address(g.dy[at:]), rowsOrScratch(d, worker, g.dx, at), address(sums), address(sums[g.c:]))
		}
	})
	if g.dweight == nil && g.dbias == nil {
		return each
	}
	return inTurn(each, d.parallel(chunksOf(g.c, foldColumns), func(chunk, _ int) {
		from, to := chunkRange(chunk, foldColumns, g.c)
		for half, sum := range [][]F{g.dweight, g.dbias} {
			if sum != nil {
				sumRows(set, sum[from:to], g.partial, half*g.c+from, chunks, 2*g.c)
			}
		}
	}))
}

// rowsAtOnce returns how many rows a kernel writes in one call to y: all size of a chunk, or when y is not wanted one,
// for which it reserves scratch memory.
func rowsAtOnce[F float](d *Device, y []F, size, c int) int {
	if y != nil {
		return size
	}
	d.reserve(4 * c)
	return 1
}

// rowsOrScratch is where element at of y lies, scratch memory when y is not wanted.
func rowsOrScratch[F float](d *Device, worker int, y []F, at int) *float32 {
	if y != nil {
		return address(y[at:])
	}
	return address(scratchOf[float32](d, worker))
}
