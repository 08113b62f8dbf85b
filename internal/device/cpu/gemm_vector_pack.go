package cpu

// blockB packs k terms from k0 on of the panels of B of product p from column j0 to j1.
func (v *vectorGemm) blockB(dst []float32, p, j0, j1, k0, k int) {
	step := k
	if v.b.row == 1 {
		step = vectorStrip
	}
	for from := 0; from < k; from += step {
		v.stripB(dst, p, j0, j1, k0, k, from, min(k, from+step))
	}
}

// stripB packs some terms of such a block: from and to, counted from k0.
func (v *vectorGemm) stripB(dst []float32, p, j0, j1, k0, k, from, to int) {
	b := v.b.data[p*v.k*v.n:]
	for j := j0; j < j1; j += v.TileCols {
		panel := dst[(j-j0)*k+from*v.TileCols:][:(to-from)*v.TileCols]
		src := &b[j*v.b.row+(k0+from)*v.b.col]
		cols := min(v.TileCols, v.n-j)
		if v.b.row == 1 {
			v.PackRows(to-from, src, 4*v.b.col, cols, &panel[0], 4*v.TileCols)
		} else {
			v.PackColumns(to-from, src, 4*v.b.row, cols, &panel[0], 4*v.TileCols)
		}
		if v.inputB != nil {
			v.inputB(panel, panel)
		}
	}
}

// blockA packs rows i0 to i1 of A of product p, k terms from k0 on: as panels for the tiles when A's columns
// are contiguous, else as rows.
func (v *vectorGemm) blockA(dst []float32, p, i0, i1, k0, k int) {
	a := v.a.data[p*v.m*v.k:]
	if v.a.row != 1 {
		for i := i0; i < i1; i++ {
			v.inputA(dst[(i-i0)*v.pitchA():][:k], a[i*v.a.row+k0:][:k])
		}
		return
	}
	tiles := chunksOf(i1-i0, v.TileRows)
	for from := 0; from < k; from += vectorStrip {
		to := min(k, from+vectorStrip)
		for t := range tiles {
			i, end := i0+t*(i1-i0)/tiles, i0+(t+1)*(i1-i0)/tiles
			panel := dst[(t*k+from)*v.lanes():][:(to-from)*v.lanes()]
			v.PackRows(to-from, &a[i+(k0+from)*v.a.col], 4*v.a.col, end-i, &panel[0], 4*v.lanes())
			if v.inputA != nil {
				v.inputA(panel, panel)
			}
		}
	}
}

// multiply adds the products of k terms from k0 on to C of product p, rows i0 to i1 and columns j0 to j1,
// which is a multiple of TileCols or n. The rows of A are in packedA when A is packed; packedB begins with
// the first panel among the columns that is packed.
func (v *vectorGemm) multiply(p, i0, i1, j0, j1, k0, k int, packedA, packedB []float32) {
	tiles := chunksOf(i1-i0, v.TileRows)
	b, c := v.b.data[p*v.n*v.k:], v.c[p*v.m*v.n:][:v.m*v.n]
	for j := j0; j < j1; j += v.TileCols {
		cols := min(v.TileCols, v.n-j)
		var panel, start, add *float32
		ldb := 4 * v.TileCols
		if j < v.packFrom {
			panel, ldb = &b[j+k0*v.b.col], 4*v.b.col
		} else {
			panel = &packedB[(j-max(j0, v.packFrom))*k]
		}
		if k0 == 0 && v.bias != nil {
			start = &v.bias[j]
		}
		for t := range tiles {
			i, end := i0+t*(i1-i0)/tiles, i0+(t+1)*(i1-i0)/tiles
			a, row, col := v.tileA(p, i, i0, t, k0, k, packedA)
			to := &c[i*v.n+j]
			switch {
			case k0 > 0:
				add = to
			case v.start != nil:
				add = &v.start[i*v.n+j]
			}
			v.Tiles[end-i](k, a, row, col, panel, ldb, cols, to, 4*v.n, start, add, 4*v.n)
		}
	}
	if k0+k == v.k {
		for i := i0; i < i1; i++ {
			v.finish(c[i*v.n+j0:i*v.n+j1], i, j0)
		}
	}
}

// tileA returns where A of tile t among those from row i0 on begins, its row i and term k0, and the strides
// in bytes.
func (v *vectorGemm) tileA(p, i, i0, t, k0, k int, packed []float32) (a *float32, row, col int) {
	switch {
	case !v.packA:
		return &v.a.data[p*v.m*v.k+i*v.a.row+k0*v.a.col], 4 * v.a.row, 4 * v.a.col
	case v.a.row == 1:
		return &packed[t*v.lanes()*k], 4, 4 * v.lanes()
	}
	return &packed[(i-i0)*v.pitchA()], 4 * v.pitchA(), 4
}
