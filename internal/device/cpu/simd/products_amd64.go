package simd

var productsAVX512 = Products{
	TileRows: 14, TileCols: 32,
	Tiles: []Tile{nil, tile512x1, tile512x2, tile512x3, tile512x4, tile512x5, tile512x6, tile512x7,
		tile512x8, tile512x9, tile512x10, tile512x11, tile512x12, tile512x13, tile512x14},
	PackRows: packRows512, PackColumns: packColumns512,
	DotRows: dotRows512, AddRows: addRows512,
}

var productsAVX2 = Products{
	TileRows: 6, TileCols: 16,
	Tiles:    []Tile{nil, tile256x1, tile256x2, tile256x3, tile256x4, tile256x5, tile256x6},
	PackRows: packRows256, PackColumns: packColumns256,
	DotRows: dotRows256, AddRows: addRows256,
}
