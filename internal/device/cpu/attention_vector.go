package cpu

import (
	"unsafe"

	"tinylm/internal/device/cpu/simd"
)

// fused is what the vector forms of Attention and AttentionGrad share: attention in float32 by tiles
// (Dao et al., "FlashAttention", 2022). The scores of a strip of queries, as many as a tile of the matrix
// product has rows, with a block of keys exist for a moment only, so that the memory does not grow with the
// square of the length. Products that no query needs are left out.
type fused struct {
	*attention[float32]
	set   *simd.Set
	seen  int // keys that any query sees: the first ones
	block int // most keys of a block
}

// A block of keys and values lies in the second cache while the strips of a tile of queries pass over it.
const (
	blockElements = 1 << 14 // of the keys, or values, of a block
	blockMin      = 64      // keys of a block
	blockMax      = 256
)

// fusedOf returns the vector form of a, nil where there is none.
func fusedOf[F float](d *Device, a *attention[F]) *fused {
	set := vectors[F](d)
	if set == nil || a.b*a.h*a.tq*a.tk*a.dv == 0 {
		return nil
	}
	return newFused(any(a).(*attention[float32]), set)
}

func newFused(a *attention[float32], set *simd.Set) *fused {
	f := &fused{attention: a, set: set, seen: a.tk}
	if a.Causal {
		f.seen = min(a.tk, a.tq)
	}
	f.block = evenly(f.seen, min(blockMax, max(blockMin, blockElements/max(a.d, a.dv))), set.TileCols)
	return f
}

// evenly returns the size, a multiple of unit, of parts of n that are about equal and none larger than most.
func evenly(n, most, unit int) int { return roundUp(chunksOf(n, max(1, chunksOf(n, most))), unit) }

// scoreRow is the distance in elements between rows of scores: a block, and some more so that the rows do not
// compete for the same places of the cache.
func (f *fused) scoreRow() int { return f.block + 16 }

// packed returns the elements that n rows of width take in panels of a tile's columns.
func (f *fused) packed(n, width int) int { return n * roundUp(width, f.set.TileCols) }

// reach returns how many of the n keys from key j on the queries before query i see together.
func (f *fused) reach(i, j, n int) int { return min(n, max(0, f.visible(i-1)-j)) }

// slope returns how many of a strip's queries, i to i+rows-1, see one key more than the one before among the n from
// key j on, or none; those behind them see all n.
func (f *fused) slope(i, rows, j, n int) int {
	if !f.Causal {
		return 0
	}
	return min(rows, max(0, j+n-1-i))
}

// product computes the rows of C (rows, columns) = A (rows, k) · B (k, columns), at most a tile's, or adds them
// to C. b is a series of packed panels that lie panel elements apart; strides are in elements.
func (f *fused) product(rows, columns, k int, a *float32, row, col int, b []float32, panel int, c *float32, ldc int, add bool) {
	tile := f.set.Tiles[rows]
	var more *float32
	for j := 0; j < columns; j += f.set.TileCols {
		if add {
			more = c
		}
		tile(k, a, 4*row, 4*col, &b[0], 4*f.set.TileCols, min(f.set.TileCols, columns-j), c, 4*ldc, nil, more, 4*ldc)
		if j+f.set.TileCols < columns {
			b, c = b[panel:], step(c, f.set.TileCols)
		}
	}
}

func step(p *float32, n int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*n)) }

// region is a part of a worker's scratch memory.
type region struct{ from, to int }

func (r region) of(scratch []float32) []float32 { return scratch[r.from:r.to] }

// layout hands out regions, each of whole cache lines.
type layout struct{ used int }

func (l *layout) take(n int) region {
	r := region{l.used, l.used + n}
	l.used += roundUp(n, 16)
	return r
}
