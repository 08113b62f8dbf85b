package cpu

import "tinylm/internal/device"

// headed is a tensor of rows by batch and head, wherever those lie in memory.
type headed[F float] struct {
	data             []F // nil when not wanted
	batch, head, row int // distances in elements
	width            int // of a row
}

// headedOf returns the rows of a buffer of shape (B, H, T, D).
func headedOf[F float](b device.Buffer) headed[F] {
	h, t, d := b.Shape[1], b.Shape[2], b.Shape[3]
	return headed[F]{data: device.Slice[F](b), batch: h * t * d, head: t * d, row: d, width: d}
}

// at returns the rows of one head.
func (x headed[F]) at(b, h int) matrix[F] {
	m := matrix[F]{row: x.row, width: x.width}
	if x.data != nil {
		m.data = x.data[b*x.batch+h*x.head:]
	}
	return m
}

// matrix holds the rows of one head.
type matrix[F float] struct {
	data       []F // nil when not wanted
	row, width int
}

func (m matrix[F]) at(i int) []F { return m.data[i*m.row:][:m.width] }

// clear sets row i to 0 when the matrix is wanted.
func (m matrix[F]) clear(i int) {
	if m.data != nil {
		clear(m.at(i))
	}
}

// from returns the rows i, i+1, ...
func (m matrix[F]) from(i int) matrix[F] {
	m.data = m.data[min(i*m.row, len(m.data)):]
	return m
}

// dots sets s0[j] = x0·y_j and s1[j] = x1·y_j for the rows y_j. s0 and x0 may be s1 and x1.
func dots[F float](s0, s1, x0, x1 []F, y matrix[F]) {
	s1, x1 = s1[:len(s0)], x1[:len(x0)]
	j := 0
	for ; j+4 <= len(s0); j += 4 {
		y0, y1, y2, y3 := y.at(j)[:len(x0)], y.at(j + 1)[:len(x0)], y.at(j + 2)[:len(x0)], y.at(j + 3)[:len(x0)]
		var a0, a1, a2, a3, b0, b1, b2, b3 F
		for i, u := range x0 {
			v := x1[i]
			a0 += F(u * y0[i])
			a1 += F(u * y1[i])
			a2 += F(u * y2[i])
			a3 += F(u * y3[i])
			b0 += F(v * y0[i])
			b1 += F(v * y1[i])
			b2 += F(v * y2[i])
			b3 += F(v * y3[i])
		}
		s0[j], s0[j+1], s0[j+2], s0[j+3] = a0, a1, a2, a3
		s1[j], s1[j+1], s1[j+2], s1[j+3] = b0, b1, b2, b3
	}
	for ; j < len(s0); j++ {
		y0 := y.at(j)[:len(x0)]
		var a, b F
		for i, u := range x0 {
			a += F(u * y0[i])
			b += F(x1[i] * y0[i])
		}
		s0[j], s1[j] = a, b
	}
}

// accumulate adds c[0]*x_0 + c[step]*x_1 + ..., n terms one after the other, to y.
func accumulate[F float](y, c []F, step int, x matrix[F], n int) {
	j := 0
	for ; j+4 <= n; j += 4 {
		c0, c1, c2, c3 := c[j*step], c[(j+1)*step], c[(j+2)*step], c[(j+3)*step]
		x0, x1, x2, x3 := x.at(j)[:len(y)], x.at(j + 1)[:len(y)], x.at(j + 2)[:len(y)], x.at(j + 3)[:len(y)]
		for i, v := range y {
			y[i] = v + F(c0*x0[i]) + F(c1*x1[i]) + F(c2*x2[i]) + F(c3*x3[i])
		}
	}
	for ; j < n; j++ {
		c0, x0 := c[j*step], x.at(j)[:len(y)]
		for i := range y {
			y[i] += F(c0 * x0[i])
		}
	}
}
