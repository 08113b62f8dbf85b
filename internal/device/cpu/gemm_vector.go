package cpu

import (
	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// A product on vector kernels goes through C in blocks of columns and through K in blocks of terms (Goto and
// van de Geijn 2008). What tiles cannot read well where it lies, a part of B or of A's columns, is packed for
// all workers; then they share the chunks of the block of C, which are computed tile by tile. Of several
// products each is computed by one worker.
const (
	vectorTerms   = 512 // most terms of a block: enough that a tile's sums are worth their way to C
	columnTerms   = 384 // the same where A's columns are contiguous, so that they stay in the first cache
	vectorRows    = 96  // most rows of a chunk: its part of A stays in the second cache
	vectorColumns = 768 // most columns of a block: so does its part of B
	vectorGoal    = 8   // chunks wanted, so that workers finish together
	vectorStrip   = 32  // terms that are packed at a time: as many rows of the operand, each from end to end
)

// vectorGemm is a gemm on vector kernels.
type vectorGemm struct {
	gemm[float32]
	simd.Products
	device *Device

	terms, columns int  // of a block
	rows, parts    int  // the chunks of a block of C: of its rows, and of its columns
	packFrom       int  // panels of B from this column on are packed
	packA, shareA  bool // A is packed; for all workers, not by each for its chunk
	sizeA          int  // floats of a chunk's packed part of A
	perChunk       int  // chunks of one of several products, in a chunk of work

	k0, j0 int // present block
}

func newVectorGemm(d *Device, g *gemm[float32], kernels simd.Products) *vectorGemm {
	v := &vectorGemm{gemm: *g, Products: kernels, device: d}
	terms := vectorTerms
	if v.a.row == 1 {
		terms = columnTerms
	}
	v.terms = roundUp(chunksOf(v.k, chunksOf(v.k, terms)), 16)
	v.columns = roundUp(chunksOf(v.n, chunksOf(v.n, vectorColumns)), v.TileCols)
	if v.b.row == 1 && v.inputB == nil && direct(v.k, v.n, v.m) {
		v.packFrom = v.n - v.n%v.TileCols // tiles read whole panels only
	}
	v.packA = v.inputA != nil || v.a.row == 1 && !direct(v.k, v.m, v.n)
	return v
}

// direct tells whether tiles are to read a matrix of the given rows and columns where it lies, a few columns
// of many rows at a time, for so many columns or rows of C. They do so well when it fits the second cache, and
// badly when its rows fall onto the same lines of the first; packing is no better where it serves few.
func direct(rows, columns, uses int) bool {
	const fit = 2 << 20 / 4
	const page = 4096 / 4
	switch {
	case columns%page == 0:
		return uses <= 32
	case rows*columns <= fit:
		return true
	}
	return uses <= 256 && columns%(page/2) != 0
}

// launch plans the product and returns the Launch that computes it.
func (v *vectorGemm) launch() device.Launch {
	if v.count > 1 {
		return v.launchMany()
	}
	v.rows, v.parts = chunksOf(v.m, vectorRows), 1
	if v.rows < vectorGoal {
		v.parts = min(v.columns/v.TileCols, chunksOf(vectorGoal, v.rows))
	} else {
		v.rows = roundUp(v.rows, 4)
	}
	v.shareA = v.packA && v.parts > 1
	v.planA(chunksOf(v.m, v.rows))
	shared := v.columns * v.terms
	if v.shareA {
		shared += v.rows * v.sizeA
	} else if v.packA {
		v.device.reserve(4 * v.sizeA)
	}
	v.device.reserveShared(4 * shared)
	pack, multiply := v.packChunk, v.multiplyChunk
	return func() error {
		v.device.mu.Lock()
		defer v.device.mu.Unlock()
		for v.j0 = 0; v.j0 < v.n; v.j0 += v.columns {
			for v.k0 = 0; v.k0 < v.k; v.k0 += v.terms {
				v.device.pool.run(v.packs(), pack)
				v.device.pool.run(v.rows*v.parts, multiply)
			}
		}
		return nil
	}
}

// planA sets the size of the packed part of A of so many rows.
func (v *vectorGemm) planA(rows int) {
	if v.a.row == 1 {
		v.sizeA = chunksOf(rows, v.TileRows) * v.lanes() * v.terms
	} else {
		v.sizeA = rows * v.pitchA()
	}
}

// lanes is the number of floats between the columns of A in a packed panel, pitchA between packed rows.
func (v *vectorGemm) lanes() int  { return v.TileCols / 2 }
func (v *vectorGemm) pitchA() int { return v.terms + 16 }

// block returns the terms of the present block, and those of its columns whose panels are packed.
func (v *vectorGemm) block() (k, from, to int) {
	to = min(v.n, v.j0+v.columns)
	return min(v.terms, v.k-v.k0), min(to, max(v.j0, v.packFrom)), to
}

// shared returns where B and A of the present block are packed.
func (v *vectorGemm) shared() (b, a []float32) {
	s := sharedOf[float32](v.device)
	return s, s[v.columns*v.terms:]
}

// packs returns the number of chunks of packing: those of B, then those of A.
func (v *vectorGemm) packs() int {
	n := v.packsB()
	if v.shareA {
		n += v.rows
	}
	return n
}

func (v *vectorGemm) packsB() int {
	k, from, to := v.block()
	switch {
	case from == to:
		return 0
	case v.b.row == 1:
		return chunksOf(k, vectorStrip)
	}
	return chunksOf(to-from, v.TileCols)
}

// packChunk packs a strip or a panel of B, or the rows of A of a chunk.
func (v *vectorGemm) packChunk(chunk, _ int) {
	k, from, to := v.block()
	b, a := v.shared()
	n := v.packsB()
	switch {
	case chunk >= n:
		chunk -= n
		v.blockA(a[chunk*v.sizeA:], 0, chunk*v.m/v.rows, (chunk+1)*v.m/v.rows, v.k0, k)
	case v.b.row == 1:
		v.stripB(b, 0, from, to, v.k0, k, chunk*vectorStrip, min(k, (chunk+1)*vectorStrip))
	default:
		panel := from + chunk*v.TileCols
		v.stripB(b[chunk*v.TileCols*k:], 0, panel, min(to, panel+v.TileCols), v.k0, k, 0, k)
	}
}

// multiplyChunk computes one chunk of the present block.
func (v *vectorGemm) multiplyChunk(chunk, worker int) {
	k, packed, to := v.block()
	row, part := chunk/v.parts, chunk%v.parts
	i0, i1 := row*v.m/v.rows, (row+1)*v.m/v.rows
	panels := chunksOf(to-v.j0, v.TileCols)
	from := v.j0 + part*panels/v.parts*v.TileCols
	to = min(to, v.j0+(part+1)*panels/v.parts*v.TileCols)

	b, a := v.shared()
	switch {
	case v.shareA:
		a = a[row*v.sizeA:]
	case v.packA:
		a = scratchOf[float32](v.device, worker)
		v.blockA(a, 0, i0, i1, v.k0, k)
	}
	b = b[max(0, from-packed)*k:]
	v.multiply(0, i0, i1, from, to, v.k0, k, a, b)
}

// launchMany is launch for several products: each worker packs for itself.
func (v *vectorGemm) launchMany() device.Launch {
	v.rows, v.parts = 1, 1
	if want := chunksOf(vectorGoal, v.count); v.n > v.m {
		v.parts = min(want, chunksOf(v.n, v.TileCols))
	} else {
		v.rows = min(want, chunksOf(v.m, v.TileRows))
	}
	v.perChunk = rowsPerChunk(chunksOf(v.m, v.rows) * chunksOf(v.n, v.parts) * v.k / 64)
	v.planA(vectorRows)
	v.device.reserve(4 * (v.columns*v.terms + v.sizeA))
	total := v.count * v.rows * v.parts
	return v.device.parallel(chunksOf(total, v.perChunk), func(chunk, worker int) {
		from, to := chunkRange(chunk, v.perChunk, total)
		for u := from; u < to; u++ {
			v.one(u/(v.rows*v.parts), u/v.parts%v.rows, u%v.parts, scratchOf[float32](v.device, worker))
		}
	})
}

// one computes a chunk of product p, of its rows and of its columns.
func (v *vectorGemm) one(p, row, part int, scratch []float32) {
	b, a := scratch[:v.columns*v.terms], scratch[v.columns*v.terms:]
	i0, i1 := row*v.m/v.rows, (row+1)*v.m/v.rows
	panels := chunksOf(v.n, v.TileCols)
	j0, j1 := part*panels/v.parts*v.TileCols, min(v.n, (part+1)*panels/v.parts*v.TileCols)
	for j := j0; j < j1; j += v.columns {
		to := min(j1, j+v.columns)
		packed := min(to, max(j, v.packFrom))
		for k0 := 0; k0 < v.k; k0 += v.terms {
			k := min(v.terms, v.k-k0)
			v.blockB(b, p, packed, to, k0, k)
			for i := i0; i < i1; i += vectorRows {
				end := min(i1, i+vectorRows)
				if v.packA {
					v.blockA(a, p, i, end, k0, k)
				}
				v.multiply(p, i, end, j, to, k0, k, a, b)
			}
		}
	}
}
