package simd

var productsNEON = Products{
	TileRows: 6, TileCols: 16,
	Tiles:    []Tile{nil, tileNEONx1, tileNEONx2, tileNEONx3, tileNEONx4, tileNEONx5, tileNEONx6},
	PackRows: packRowsNEON, PackColumns: packColumnsNEON,
	DotRows: dotRowsNEON, AddRows: addRowsNEON,
}
