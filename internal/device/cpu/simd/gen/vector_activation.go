package main

import "math"

// activations are the kernels of elements.go for activation functions and their gradients.
var activations = []routine{
	activation("relu", func(k *kernel, x value) value { return k.max(k.constant(0), x) }),
	activationGrad("reluGrad", func(k *kernel, dy, x value) value {
		return k.choose(k.lessEqual(x, k.constant(0)), k.constant(0), dy)
	}),
	activation("geluTanh", func(k *kernel, x value) value {
		_, e := geluExp(k, x)
		return k.div(k.max(k.constant(-geluFar), x), k.add(e, k.constant(1)))
	}),
	activationGrad("geluTanhGrad", geluTanhGrad),
	activation("geluExact", func(k *kernel, x value) value {
		_, p, _ := normal(k, x)
		return k.mul(k.max(k.constant(-geluFar), x), p)
	}),
	activationGrad("geluExactGrad", func(k *kernel, dy, x value) value {
		v, p, density := normal(k, x)
		return k.mul(dy, k.fma(v, density, p))
	}),
}

func activation(name string, f func(k *kernel, x value) value) routine {
	return routine{
		name: name, doc: "is an Activation.Value.", signature: "func(n int, y, x *float32)",
		write: func(k *kernel) {
			y, x := k.pointer("y"), k.pointer("x")
			k.hold(20)
			k.each(k.count("n"), 2, func(int) { k.store(y, f(k, k.load(x))) }, y, x)
		},
	}
}

func activationGrad(name string, f func(k *kernel, dy, x value) value) routine {
	return routine{
		name: name, doc: "is an Activation.Grad.", signature: "func(n int, dx, dy, x *float32)",
		write: func(k *kernel) {
			dx, dy, x := k.pointer("dx"), k.pointer("dy"), k.pointer("x")
			k.hold(20)
			k.each(k.count("n"), 2, func(int) { k.store(dx, f(k, k.load(dy), k.load(x))) }, dx, dy, x)
		},
	}
}

// geluFar is a distance from 0 beyond which, in float32, both forms of GELU and their slopes are the limits 0 and 0,
// x and 1. Formulas take x for no farther, where its powers are finite.
const geluFar = 14

// within brings x into -geluFar..geluFar; NaN stays.
func within(k *kernel, x value) value {
	return k.max(k.constant(-geluFar), k.min(k.constant(geluFar), x))
}

// The tanh form of GELU is x*sigmoid(z) with z = x*(geluLinear + geluCubic*x^2), since (1+tanh(u))/2 = sigmoid(2u).
const (
	geluLinear = 1.5957691216057308 // 2*sqrt(2/pi)
	geluCubic  = geluLinear * 0.044715
)

// geluExp writes v, which is x brought into range, and e^-z. Far from 0, z is large and its rounding would be the
// whole error: it is computed with a second part.
func geluExp(k *kernel, x value) (v, e value) {
	linear, linearLow := split(-geluLinear, 12)
	cubic, cubicLow := split(-geluCubic, 24)
	v = within(k, x)
	square := k.mul(v, v)
	slope := k.fma(k.constant(cubic), square, k.constant(linear)) // of -z
	low := k.fma(k.constant(cubic), square, k.sub(k.constant(linear), slope))
	low = k.fma(k.constant(cubic), k.fms(v, v, square), low)
	low = k.fma(k.constant(cubicLow), square, k.add(low, k.constant(linearLow)))
	z := k.mul(v, slope)
	zLow := k.fma(v, low, k.fms(v, slope, z))
	return v, expOf(k, k.min(k.constant(expMost), z), zLow)
}

// split returns f rounded to a mantissa of so many bits, and the rest.
func split(f float64, bits int) (high, low float64) {
	fraction, exponent := math.Frexp(f)
	high = math.Ldexp(math.Round(math.Ldexp(fraction, bits)), exponent-bits)
	return high, f - high
}

// geluTanhGrad is dy*(s + x*s*(1-s)*dz/dx) with s = sigmoid(z); 1-s is s*e^-z.
func geluTanhGrad(k *kernel, dy, x value) value {
	v, e := geluExp(k, x)
	s := k.div(k.constant(1), k.add(e, k.constant(1)))
	rest := k.mul(s, k.min(k.constant(math.MaxFloat32), e))
	slope := k.fma(k.mul(v, v), k.constant(3*geluCubic), k.constant(geluLinear))
	return k.mul(dy, k.fma(k.mul(v, s), k.mul(rest, slope), s))
}

// normal writes v, which is x brought into range, the distribution function of the normal distribution and its
// density, both at x. Left of 0 the distribution function is e^(-x^2/2) times Mills' ratio, a polynomial in
// 1/(1+0.3*|x|), of the form of Abramowitz and Stegun 26.2.17 with coefficients fitted for |x| <= geluFar.
func normal(k *kernel, x value) (v, p, density value) {
	v = within(k, x)
	square := k.mul(v, v)
	half := k.constant(-0.5)
	e := expOf(k, k.mul(square, half), k.mul(k.fms(v, v, square), half))
	t := k.div(k.constant(1), k.fma(k.abs(v), k.constant(0.3), k.constant(1)))
	tail := k.mul(k.mul(e, t), k.polynomial(t, millsCoefficients...))
	p = k.choose(k.less(k.constant(0), v), k.sub(k.constant(1), tail), tail)
	return v, p, k.mul(e, k.constant(1/(math.Sqrt2*math.SqrtPi)))
}

// millsCoefficients, of t^1 upward, fit Mills' ratio to a relative error of 2e-7.
var millsCoefficients = []float64{
	0.119634529928, 0.120672740066, 0.100425527721, 0.126858197381, -0.0504432629096,
	0.202815358397, -0.155141768617, 0.0351785872589,
}
