package bench

import "unsafe"

// plainTurn is what a turn of the loops below does: as many multiply-adds, as many floats.
const plainTurn = 8

// unit is 1, which the compiler does not know.
var unit float32 = 1

// plainMultiplyAdds is MultiplyAdds of [simd.Peaks] where there are no vector kernels: it sets *count to
// the number of multiply-adds, exactly up to a million turns.
func plainMultiplyAdds(turns int, count *float32) {
	one := unit
	var a, b, c, d, e, f, g, h float32
	for range turns {
		a = float32(a*one) + one
		b = float32(b*one) + one
		c = float32(c*one) + one
		d = float32(d*one) + one
		e = float32(e*one) + one
		f = float32(f*one) + one
		g = float32(g*one) + one
		h = float32(h*one) + one
	}
	*count = a + b + c + d + e + f + g + h
}

// plainRead is Read of [simd.Peaks] where there are no vector kernels.
func plainRead(turns int, p, sum *float32) {
	var a, b, c, d, e, f, g, h float32
	x := unsafe.Slice(p, turns*plainTurn)
	for ; len(x) >= plainTurn; x = x[plainTurn:] {
		a, b, c, d = a+x[0], b+x[1], c+x[2], d+x[3]
		e, f, g, h = e+x[4], f+x[5], g+x[6], h+x[7]
	}
	*sum = a + b + c + d + e + f + g + h
}
