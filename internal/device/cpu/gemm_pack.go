package cpu

// pack2 packs n rows of x from row i0, of each the k elements from k0, into panels of two rows, the last
// filled up with zeros: element (i, k) of a panel is at dst[2*k+i].
func pack2[F float](dst []F, x operand[F], i0, n, k0, k int) {
	for i := 0; i < n; i += 2 {
		panel := dst[i*k:][:2*k]
		src := x.data[(i0+i)*x.row+k0*x.col:]
		switch {
		case n-i < 2:
			packEdge(panel, src, x, 2, 1)
		case x.col == 1:
			r0, r1 := src[:k], src[x.row:][:k]
			for j := range r0 {
				p := panel[2*j:][:2]
				p[0], p[1] = r0[j], r1[j]
			}
		default:
			for j := range k {
				p, s := panel[2*j:][:2], src[j*x.col:][:2]
				p[0], p[1] = s[0], s[1]
			}
		}
	}
}

// pack4 is pack2 with panels of four rows.
func pack4[F float](dst []F, x operand[F], i0, n, k0, k int) {
	for i := 0; i < n; i += 4 {
		panel := dst[i*k:][:4*k]
		src := x.data[(i0+i)*x.row+k0*x.col:]
		switch {
		case n-i < 4:
			packEdge(panel, src, x, 4, n-i)
		case x.col == 1:
			r0, r1, r2, r3 := src[:k], src[x.row:][:k], src[2*x.row:][:k], src[3*x.row:][:k]
			for j := range r0 {
				p := panel[4*j:][:4]
				p[0], p[1], p[2], p[3] = r0[j], r1[j], r2[j], r3[j]
			}
		default:
			for j := range k {
				p, s := panel[4*j:][:4], src[j*x.col:][:4]
				p[0], p[1], p[2], p[3] = s[0], s[1], s[2], s[3]
			}
		}
	}
}

// packEdge packs the n rows at src into a panel of width rows, the others zero: their products are not
// used, but denormal leftovers would slow them down.
func packEdge[F float](panel, src []F, x operand[F], width, n int) {
	clear(panel)
	for i := range n {
		for j := 0; j*width < len(panel); j++ {
			panel[j*width+i] = src[i*x.row+j*x.col]
		}
	}
}
