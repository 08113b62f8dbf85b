package simd

// Tile computes a tile of C = A·B + start + add: as many rows as its place in Products.Tiles says, and cols
// columns, from 1 to TileCols.
//
// A(i, k) lies at a + i*row + k*col bytes, row k of B at b + k*ldb: TileCols floats, or half as many where cols
// is not more, all of which are read. Each of start, the same for every row, and add may be nil; add may be c.
// The rows of c lie ldc bytes apart, those of add ldadd bytes.
type Tile func(k int, a *float32, row, col int, b *float32, ldb, cols int, c *float32, ldc int, start, add *float32, ldadd int)

// Products is the kernels of matrix products.
type Products struct {
	TileRows, TileCols int    // of the largest tile; TileCols is at least twice TileRows
	Tiles              []Tile // by rows, from 1; Tiles[0] is nil

	// PackRows copies the k rows at src, cols floats each, from 1 to TileCols, and ld bytes apart, to rows ldd
	// bytes apart. PackColumns does the same with the first k floats of cols rows, which become columns.
	// Each row at dst is written in whole registers, as many as cols need, filled up with zeros; all TileCols
	// floats where cols is more than half of them.
	PackRows, PackColumns func(k int, src *float32, ld, cols int, dst *float32, ldd int)

	// DotRows sets y[i] = sum over j of x[j]*w[i*ldw+j] for i in 0..n-1 and j in 0..k-1, ldw in bytes. A result
	// does not depend on the rows around it.
	DotRows func(n, k int, x, w *float32, ldw int, y *float32)

	// AddRows adds x[i]*w[i*ldw+j] to y[j] for i in 0..k-1, in this order, and j in 0..n-1, ldw in bytes.
	AddRows func(k, n int, x, w *float32, ldw int, y *float32)
}
