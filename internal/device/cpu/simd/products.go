package simd

// Tile computes a tile of C = A·B + init, TileCols columns wide and as many rows as its place in
// Products.Tiles says.
//
// A(i, k) lies at a + i*row + k*col bytes; b is a packed panel, k rows of TileCols floats; the rows of c
// lie ldc bytes apart, those of init, where the sums begin, ldinit bytes: 0 for a bias row, c itself to
// accumulate.
type Tile func(k int, a *float32, row, col int, b, c *float32, ldc int, init *float32, ldinit int)

// Products is the kernels of matrix products.
type Products struct {
	TileRows, TileCols int    // of the largest tile
	Tiles              []Tile // by rows, from 1; Tiles[0] is nil
}
