package cpu

// panelB packs the panel of B of product p whose first element is (k0, j), k terms long.
func (v *vectorGemm) panelB(dst []float32, p, j, k0, k int) {
	src := &v.b.data[p*v.k*v.n+j*v.b.row+k0*v.b.col]
	cols := min(v.TileCols, v.n-j)
	if v.b.row == 1 {
		v.PackRows(k, src, 4*v.b.col, cols, &dst[0], 4*v.TileCols)
	} else {
		v.PackColumns(k, src, 4*v.b.row, cols, &dst[0], 4*v.TileCols)
	}
	if v.inputB != nil {
		v.inputB(dst, dst)
	}
}

// blockA packs rows i0 to i1 of A of product p, k terms from k0 on: panels of tiles when its columns are
// contiguous, else rows.
func (v *vectorGemm) blockA(dst []float32, p, i0, i1, k0, k int) {
	a := v.a.data[p*v.m*v.k:]
	if v.a.row != 1 {
		for i := i0; i < i1; i++ {
			to, from := dst[(i-i0)*v.pitchA():][:k], a[i*v.a.row+k0:][:k]
			if v.inputA != nil {
				v.inputA(to, from)
			} else {
				copy(to, from)
			}
		}
		return
	}
	tiles := chunksOf(i1-i0, v.TileRows)
	for t := range tiles {
		i, end := i0+t*(i1-i0)/tiles, i0+(t+1)*(i1-i0)/tiles
		panel := dst[t*v.lanes()*k:][:v.lanes()*k]
		v.PackRows(k, &a[i+k0*v.a.col], 4*v.a.col, end-i, &panel[0], 4*v.lanes())
		if v.inputA != nil {
			v.inputA(panel, panel)
		}
	}
}

// multiply adds the products of k terms from k0 on to C of product p, rows i0 to i1 and columns j0 to j1,
// which is a multiple of TileCols or n. The rows of A are in packedA when A is packed; packedB begins with
// the first panel among the columns that is packed.
func (v *vectorGemm) multiply(p, i0, i1, j0, j1, k0, k int, packedA, packedB []float32) {
	tiles := chunksOf(i1-i0, v.TileRows)
	a, b, c := v.a.data[p*v.m*v.k:], v.b.data[p*v.n*v.k:], v.c[p*v.m*v.n:]
	row, col := 4*v.a.row, 4*v.a.col
	if v.packA {
		row = 4 * v.pitchA()
		if v.a.row == 1 {
			row, col = 4, 4*v.lanes()
		}
	}
	for j := j0; j < j1; j += v.TileCols {
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
			var first *float32
			switch {
			case !v.packA:
				first = &a[i*v.a.row+k0*v.a.col]
			case v.a.row == 1:
				first = &packedA[t*v.lanes()*k]
			default:
				first = &packedA[(i-i0)*v.pitchA()]
			}
			to := &c[i*v.n+j]
			switch {
			case k0 > 0:
				add = to
			case v.start != nil:
				add = &v.start[i*v.n+j]
			}
			v.Tiles[end-i](k, first, row, col, panel, ldb, min(v.TileCols, v.n-j), to, 4*v.n, start, add, 4*v.n)
		}
	}
	if v.slope != nil && k0+k == v.k {
		for i := i0; i < i1; i++ {
			y := c[i*v.n+j0 : i*v.n+j1]
			v.slope(y, y, v.at[i*v.n+j0:][:len(y)])
		}
	}
}
