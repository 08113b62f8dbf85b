package cpu

import (
	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// columnSums adds up the rows of x (N, C) by the vector kernel: in blocks of rows, and of columns when there are
// many, and then the sums of the blocks of rows in turn.
type columnSums[F float] struct {
	set        *simd.Set
	y, x       []F
	n, c       int
	rows, cols int // of a block
	across     int // blocks beside one another
	parts      []F // (blocks above one another, C), y when there is one
}

const (
	leastColumns = 16   // with fewer the vectors would be mostly empty
	mostColumns  = 2048 // whose sums stay in the first cache
	mostParts    = 32
	undivided    = 16 // are not divided
)

func newColumnSums[F float](d *Device, set *simd.Set, y, x []F, c int) device.Launch {
	s := &columnSums[F]{set: set, y: y, x: x, n: len(x) / c, c: c, cols: min(c, mostColumns), parts: y}
	s.rows = roundUp(max(rowsPerChunk(s.cols), chunksOf(s.n, mostParts), undivided), 4)
	s.across = chunksOf(s.c, s.cols)
	above := max(1, chunksOf(s.n, s.rows))
	blocks := d.parallel(above*s.across, s.block)
	if above == 1 {
		return blocks
	}
	s.parts = make([]F, above*s.c)
	return inTurn(blocks, d.parallel(chunksOf(s.c, foldColumns), func(chunk, _ int) {
		from, to := chunkRange(chunk, foldColumns, s.c)
		sumRows(set, s.y[from:to], s.parts, from, above, s.c)
	}))
}

// block adds up the rows of one block.
func (s *columnSums[F]) block(block, _ int) {
	above, across := block/s.across, block%s.across
	from, to := chunkRange(above, s.rows, s.n)
	left, right := chunkRange(across, s.cols, s.c)
	sumRows(s.set, s.parts[above*s.c:][left:right], s.x, from*s.c+left, to-from, s.c)
}

// foldColumns is the number of columns whose parts a worker adds up at a time.
const foldColumns = 256

// sumRows sets y to the sum of rows that begin at an element of x, stride elements apart.
func sumRows[F float](set *simd.Set, y, x []F, at, rows, stride int) {
	clear(y)
	if rows > 0 {
		set.SumRows(rows, len(y), address(y), address(x[at:]), 4*stride)
	}
}
