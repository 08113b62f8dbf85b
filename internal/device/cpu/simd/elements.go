package simd

// Elements is the kernels that work element by element or row by row. An output may be an input.
type Elements struct {
	ReLU, GELUTanh, GELUExact Activation

	Max            func(n int, x *float32) float32                   // the largest of x, -Inf when n is 0; NaN may be passed over
	Exp            func(n int, y, x *float32, shift float32) float64 // sets y = e^(x-shift) for x up to shift, returns the sum of y
	ExpSum         func(n int, x *float32, shift float32) float64    // Exp without y; the same sum
	Scale          func(n int, y, x *float32, by float32)            // y = x*by
	Subtract       func(n int, y, x *float32, a, b float32)          // y = x - a - b
	SoftmaxGrad    func(n int, dx, dy, y *float32)                   // dx = y*(dy - sum(dy*y))
	LogSoftmaxGrad func(n int, dx, dy, y *float32)                   // dx = dy - e^y*sum(dy)

	// Dropout by Philox4x32-10: the factors of n elements, of which the first is word 0 of what counter and key
	// draw; four elements to a counter. A factor is 0 where the word is below drop, else factor.
	Keep    func(n int, y *float32, counter [4]uint32, key [2]uint32, drop uint32, factor float32)              // y = the factors
	Drop    func(n int, y, x *float32, counter [4]uint32, key [2]uint32, drop uint32, factor float32)           // y = x*factors
	DropAdd func(n int, y, x, residual *float32, counter [4]uint32, key [2]uint32, drop uint32, factor float32) // y = residual + x*factors

	Add        func(n int, y, a, b *float32)   // y = a + b
	SumSquares func(n int, x *float32) float64 // in float64

	adamW       func(n int, w, m, v, g, factors *float32)
	sumRows     func(fours, ones, cols, back, stride, next int, y, x *float32)
	norm        func(rows, cols, back int, x, weight, bias *float32, size, eps float32, y, mean, rstd *float32)
	normGrad    func(rows, cols, back int, x, weight, mean, rstd, dy *float32, size float32, dx, dweight, dbias *float32)
	normGradAdd func(rows, cols, back int, base, x, weight, mean, rstd, dy *float32, size float32, dx, dweight, dbias *float32)
}

// Activation is an activation function and its gradient.
type Activation struct {
	Value func(n int, y, x *float32)      // y = f(x)
	Grad  func(n int, dx, dy, x *float32) // dx = dy*f'(x)
}
