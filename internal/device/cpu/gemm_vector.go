package cpu

import (
	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// A product on vector kernels goes through C in blocks of columns and through K in blocks of terms (Goto and
// van de Geijn 2008). First B's block is packed, for all workers; then the chunks of C, some rows of its block
// each, are computed tile by tile. Of several products each is computed by one worker.
var (
	vectorTerms   = 512 // most terms of a block: enough that a tile's sums are worth their way to C
	vectorRows    = 98  // most rows of a chunk: its part of A stays in the second cache
	vectorColumns = 768 // most columns of a block: so does its part of B
	vectorGoal    = 8   // chunks wanted, so that workers finish together

	directA, directB = 0, 0
)

// vectorGemm is a gemm on vector kernels.
type vectorGemm struct {
	gemm[float32]
	simd.Products
	device *Device

	terms, columns int  // of a block
	rows, parts    int  // the chunks of a block: of its rows, and of its columns
	packFrom       int  // panels of B from this column on are packed
	packA, shareA  bool // A is packed, for all workers
	sizeA          int  // floats of a chunk's packed part of A
	perChunk       int  // of several products, or their chunks

	k0, j0 int // present block
}

func newVectorGemm(d *Device, g *gemm[float32], kernels simd.Products) *vectorGemm {
	v := &vectorGemm{gemm: *g, Products: kernels, device: d}
	v.terms = roundUp(chunksOf(v.k, chunksOf(v.k, vectorTerms)), 16)
	v.columns = roundUp(chunksOf(v.n, chunksOf(v.n, vectorColumns)), v.TileCols)
	if v.b.row != 1 || v.inputB != nil || v.m > directB {
		v.packFrom = 0
	} else {
		v.packFrom = v.n - v.n%v.TileCols
	}
	v.packA = v.inputA != nil || v.a.row == 1 && v.n > directA || v.a.row%1024 == 0
	return v
}

// launch plans the product and returns the Launch that computes it.
func (v *vectorGemm) launch() device.Launch {
	if v.count > 1 {
		return v.launchMany()
	}
	v.rows = chunksOf(v.m, vectorRows)
	panels := v.columns / v.TileCols
	v.parts = 1
	if v.rows < vectorGoal {
		v.parts = min(panels, chunksOf(vectorGoal, v.rows))
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
		d := v.device
		d.mu.Lock()
		defer d.mu.Unlock()
		for v.j0 = 0; v.j0 < v.n; v.j0 += v.columns {
			panels := chunksOf(v.n-max(v.j0, v.packFrom), v.TileCols)
			panels = max(0, min(panels, v.columns/v.TileCols))
			for v.k0 = 0; v.k0 < v.k; v.k0 += v.terms {
				packs := panels
				if v.shareA {
					packs += v.rows
				}
				d.pool.run(packs, pack)
				d.pool.run(v.rows*v.parts, multiply)
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

// packChunk packs a panel of B or, when they are shared, the rows of A of a chunk.
func (v *vectorGemm) packChunk(chunk, _ int) {
	b, a := v.sharedB(), v.sharedA()
	k := min(v.terms, v.k-v.k0)
	from := max(v.j0, v.packFrom)
	panels := max(0, min(chunksOf(v.n-from, v.TileCols), v.columns/v.TileCols))
	if chunk < panels {
		j := chunk * v.TileCols
		v.panelB(b[j*k:][:v.TileCols*k], 0, from+j, v.k0, k)
		return
	}
	chunk -= panels
	v.blockA(a[chunk*v.sizeA:][:v.sizeA], 0, chunk*v.m/v.rows, (chunk+1)*v.m/v.rows, v.k0, k)
}

func (v *vectorGemm) sharedB() []float32 {
	return sharedOf[float32](v.device)
}

func (v *vectorGemm) sharedA() []float32 {
	return sharedOf[float32](v.device)[v.columns*v.terms:]
}

// multiplyChunk computes one chunk of the present block.
func (v *vectorGemm) multiplyChunk(chunk, worker int) {
	k := min(v.terms, v.k-v.k0)
	row, part := chunk/v.parts, chunk%v.parts
	i0, i1 := row*v.m/v.rows, (row+1)*v.m/v.rows
	columns := min(v.columns, v.n-v.j0)
	panels := chunksOf(columns, v.TileCols)
	j0, j1 := part*panels/v.parts*v.TileCols, (part+1)*panels/v.parts*v.TileCols
	var a []float32
	if v.shareA {
		a = v.sharedA()[row*v.sizeA:]
	} else if v.packA {
		a = scratchOf[float32](v.device, worker)[:v.sizeA]
		v.blockA(a, 0, i0, i1, v.k0, k)
	}
	b := v.sharedB()
	if v.packFrom < v.j0+j1 {
		b = b[(max(v.j0+j0, v.packFrom)-max(v.j0, v.packFrom))*k:]
	}
	v.multiply(0, i0, i1, v.j0+j0, min(v.n, v.j0+j1), v.k0, k, a, b)
}

// launchMany is launch for several products.
func (v *vectorGemm) launchMany() device.Launch {
	v.rows, v.parts = 1, 1
	need := chunksOf(vectorGoal, v.count)
	if v.n > v.m {
		v.parts = min(need, chunksOf(v.n, v.TileCols))
	} else {
		v.rows = min(need, chunksOf(v.m, v.TileRows))
	}
	v.perChunk = rowsPerChunk(chunksOf(v.m, v.rows) * chunksOf(v.n, v.parts) * v.k / 64)
	v.planA(vectorRows)
	scratch := v.columns * v.terms
	if v.packA {
		scratch += v.sizeA
	}
	v.device.reserve(4 * scratch)
	units := v.count * v.rows * v.parts
	return v.device.parallel(chunksOf(units, v.perChunk), func(chunk, worker int) {
		from, to := chunkRange(chunk, v.perChunk, units)
		for u := from; u < to; u++ {
			v.unit(u, scratchOf[float32](v.device, worker))
		}
	})
}

// unit computes a chunk of one of several products.
func (v *vectorGemm) unit(u int, scratch []float32) {
	p, row, part := u/(v.rows*v.parts), u/v.parts%v.rows, u%v.parts
	i0, i1 := row*v.m/v.rows, (row+1)*v.m/v.rows
	panels := chunksOf(v.n, v.TileCols)
	j1 := min(v.n, (part+1)*panels/v.parts*v.TileCols)
	b, a := scratch[:v.columns*v.terms], scratch[v.columns*v.terms:]
	for j := part * panels / v.parts * v.TileCols; j < j1; j += v.columns {
		end := min(j1, j+v.columns)
		for k0 := 0; k0 < v.k; k0 += v.terms {
			k := min(v.terms, v.k-k0)
			first := max(j, v.packFrom)
			for jp := first; jp < end; jp += v.TileCols {
				v.panelB(b[(jp-first)*k:][:v.TileCols*k], p, jp, k0, k)
			}
			for i := i0; i < i1; i += vectorRows {
				if v.packA {
					v.blockA(a[:v.sizeA], p, i, min(i1, i+vectorRows), k0, k)
				}
				v.multiply(p, i, min(i1, i+vectorRows), j, end, k0, k, a, b)
			}
		}
	}
}
