package cpu

import (
	"encoding/binary"
	"math"
	"unsafe"

	"tinylm/internal/device"
)

// packRows packs n rows of x into panels of a tile's columns: element (i, c) of x lies in panel c/cols at
// [i][c%cols].
func (f *fused) packRows(to []float32, x matrix[float32], n int) {
	cols := f.set.TileCols
	for c := 0; c < x.width; c += cols {
		f.set.PackRows(n, &x.data[c], 4*x.row, min(cols, x.width-c), &to[c*n], 4*cols)
	}
}

// packColumns packs the transpose of n rows of x: element (i, c) of x lies in panel i/cols at [c][i%cols].
func (f *fused) packColumns(to []float32, x matrix[float32], n int) {
	cols := f.set.TileCols
	for i := 0; i < n; i += cols {
		f.set.PackColumns(x.width, &x.data[i*x.row], 4*x.row, min(cols, n-i), &to[i*x.width], 4*cols)
	}
}

// finite tells whether no element of x is NaN or infinite, nor so large that it might as well be.
func (f *fused) finite(x, square []float32) bool {
	f.set.DotStrips(&square[0], &x[0], 0, &x[0], 0, 1, len(x))
	return square[0] <= math.MaxFloat32
}

// maskStrip masks the scores s of the queries i to i+rows-1 and the keys j to j+k-1. It returns by what the scores
// are still to be multiplied.
func (f *fused) maskStrip(s []float32, b, h, i, rows, j, k int) float32 {
	m, row := f.mask, f.scoreRow()
	if m.add == nil && m.hidden == nil {
		return f.scale
	}
	f.set.ScaleStrip(&s[0], 4*row, &s[0], 4*row, rows, k, &f.scale, 0)
	at := b*m.batch + h*m.head + i*m.row + j
	if m.add != nil {
		f.set.AddStrip(&s[0], 4*row, &m.add[at], 4*m.row, rows, k)
		return 1
	}
	for r := range rows {
		setHidden(s[r*row:], m.hidden[at+r*m.row:][:k], device.HiddenScore)
	}
	return 1
}

// stopStrip clears those gradients of scores that belong to hidden keys.
func (f *fused) stopStrip(ds []float32, b, h, i, rows, j, k int) {
	m := f.mask
	if m.hidden == nil {
		return
	}
	at := b*m.batch + h*m.head + i*m.row + j
	for r := range rows {
		setHidden(ds[r*f.scoreRow():], m.hidden[at+r*m.row:][:k], 0)
	}
}

// setHidden sets the elements of s that are hidden to v.
func setHidden(s []float32, hidden []bool, v float32) {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(hidden))), len(hidden))
	for len(bytes) >= 8 {
		if binary.NativeEndian.Uint64(bytes) != 0 {
			for i, b := range bytes[:8] {
				if b != 0 {
					s[i] = v
				}
			}
		}
		bytes, s = bytes[8:], s[8:]
	}
	for i, b := range bytes {
		if b != 0 {
			s[i] = v
		}
	}
}

// factorStrip draws the factors of dropout of the queries i to i+rows-1 for the keys j to j+k-1.
func (f *fused) factorStrip(to []float32, b, h, i, rows, j, k int) {
	for r := range rows {
		f.keep.factors(to[r*f.scoreRow():][:k], b, (h*f.tq+i+r)*f.tk+j)
	}
}
