package cpu

import (
	"fmt"
	"math"
	"unsafe"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// activation is a function and its gradient over vectors of one length. y may be x, and dx dy.
type activation[F float] struct {
	apply func(y, x []F)
	grad  func(dx, dy, x []F)
}

func activationOf[F float](k device.Kernel, kind device.ActivationKind) (activation[F], error) {
	switch kind {
	case device.ReLU:
		return activation[F]{relu[F], reluGrad[F]}, nil
	case device.GELUTanh:
		return activation[F]{geluTanh[F], geluTanhGrad[F]}, nil
	case device.GELUExact:
		return activation[F]{geluExact[F], geluExactGrad[F]}, nil
	}
	return activation[F]{}, fmt.Errorf("cpu: %s: no activation function %d", k.Name(), kind)
}

// activationOn is activationOf with the device's vector kernels where it has them.
func activationOn[F float](d *Device, k device.Kernel, kind device.ActivationKind) (activation[F], error) {
	f, err := activationOf[F](k, kind)
	set := vectors[F](d)
	if err != nil || set == nil {
		return f, err
	}
	v := map[device.ActivationKind]simd.Activation{
		device.ReLU: set.ReLU, device.GELUTanh: set.GELUTanh, device.GELUExact: set.GELUExact,
	}[kind]
	return activation[F]{
		func(y, x []F) { v.Value(len(x), address(y), address(x)) },
		func(dx, dy, x []F) { v.Grad(len(x), address(dx), address(dy), address(x)) },
	}, nil
}

func prepareActivation[F float](d *Device, k device.Activation, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	if err := checkFloat[F](k, in[0], out[0]); err != nil {
		return nil, err
	}
	if err := checkShape(k, "y", out[0], in[0].Shape...); err != nil {
		return nil, err
	}
	f, err := activationOn[F](d, k, k.Kind)
	if err != nil {
		return nil, err
	}
	x, y := device.Slice[F](in[0]), device.Slice[F](out[0])
	return d.eachChunk(len(x), func(from, to int) {
		f.apply(y[from:to], x[from:to])
	}), nil
}

func prepareActivationGrad[F float](d *Device, k device.ActivationGrad, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	if err := checkFloat[F](k, in[0], in[1], out[0]); err != nil {
		return nil, err
	}
	if err := checkShape(k, "dy", in[0], in[1].Shape...); err != nil {
		return nil, err
	}
	if err := checkShape(k, "dx", out[0], in[1].Shape...); err != nil {
		return nil, err
	}
	f, err := activationOn[F](d, k, k.Kind)
	if err != nil {
		return nil, err
	}
	dy, x, dx := device.Slice[F](in[0]), device.Slice[F](in[1]), device.Slice[F](out[0])
	return d.eachChunk(len(x), func(from, to int) {
		f.grad(dx[from:to], dy[from:to], x[from:to])
	}), nil
}

func relu[F float](y, x []F) {
	y = y[:len(x)]
	for i, v := range x {
		if v <= 0 {
			v = 0
		}
		y[i] = v
	}
}

func reluGrad[F float](dx, dy, x []F) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	for i, v := range x {
		g := dy[i]
		if v <= 0 {
			g = 0
		}
		dx[i] = g
	}
}

// The functions with an exponential go through blocks of this many elements, computing in float64.
const activationBlock = 128

// The tanh form of GELU is x*sigmoid(z) with z = 2*sqrt(2/pi)*(x+0.044715*x^3), since
// (1+tanh(u))/2 = sigmoid(2u): one exponential and one division.
const (
	geluLinear = 2 * math.Sqrt2 / math.SqrtPi // 2*sqrt(2/pi)
	geluCubic  = geluLinear * 0.044715
)

// Beyond 40 from 0 both forms of GELU and their slopes are the limits 0 and 0, x and 1, even in float64.
// Formulas take x for no less, and slopes for no more: its product with a probability of 0, or with the
// least one that expBlock gives for float32, must not be NaN or large.
const geluFar = 40

// notBelow is max(v, -geluFar) for v that may be NaN, which stays.
func notBelow(v float64) float64 {
	if v < -geluFar {
		return -geluFar
	}
	return v
}

// within brings v into -geluFar..geluFar; NaN stays.
func within(v float64) float64 {
	if v > geluFar {
		return geluFar
	}
	return notBelow(v)
}

func geluTanh[F float](y, x []F) {
	var block [activationBlock]float64
	for len(x) > 0 {
		n := min(len(x), len(block))
		e, y1, x1 := block[:n], y[:n], x[:n]
		geluExp(e, x1)
		for i, f := range x1 {
			y1[i] = F(notBelow(float64(f)) / (1 + e[i]))
		}
		y, x = y[n:], x[n:]
	}
}

// geluTanhGrad is dy*(s + x*s*(1-s)*dz/dx) with s = sigmoid(z).
func geluTanhGrad[F float](dx, dy, x []F) {
	var block [activationBlock]float64
	for len(x) > 0 {
		n := min(len(x), len(block))
		e, dx1, dy1, x1 := block[:n], dx[:n], dy[:n], x[:n]
		geluExp(e, x1)
		for i, f := range x1 {
			v := within(float64(f))
			s := 1 / (1 + e[i])
			dz := geluLinear + float64(3*geluCubic*float64(v*v))
			dx1[i] = F(float64(dy1[i]) * (s + float64(v*s*(1-s)*dz)))
		}
		dx, dy, x = dx[n:], dy[n:], x[n:]
	}
}

// geluExp sets e = exp(-z).
func geluExp[F float](e []float64, x []F) {
	x = x[:len(e)]
	for i, f := range x {
		v := float64(f)
		e[i] = -v * (geluLinear + float64(geluCubic*float64(v*v)))
	}
	expBlock[F](e)
}

// The exact GELU is x*P(x) with P the distribution function of the normal distribution; its derivative
// is P(x) + x*p(x) with the density p.

func geluExact[F float](y, x []F) {
	var block [2][activationBlock]float64
	for len(x) > 0 {
		n := min(len(x), activationBlock)
		p, density, y1, x1 := block[0][:n], block[1][:n], y[:n], x[:n]
		normal(p, density, x1)
		for i, f := range x1 {
			y1[i] = F(notBelow(float64(f)) * p[i])
		}
		y, x = y[n:], x[n:]
	}
}

func geluExactGrad[F float](dx, dy, x []F) {
	var block [2][activationBlock]float64
	for len(x) > 0 {
		n := min(len(x), activationBlock)
		p, density, dx1, dy1, x1 := block[0][:n], block[1][:n], dx[:n], dy[:n], x[:n]
		normal(p, density, x1)
		for i, f := range x1 {
			dx1[i] = F(float64(dy1[i]) * (p[i] + float64(within(float64(f))*density[i])))
		}
		dx, dy, x = dx[n:], dy[n:], x[n:]
	}
}

// normal computes the distribution function and the density of the normal distribution.
func normal[F float](p, density []float64, x []F) {
	const perRoot = 1 / (math.Sqrt2 * math.SqrtPi) // 1/sqrt(2*pi)
	p, density = p[:len(x)], density[:len(x)]
	for i, f := range x {
		v := float64(f)
		density[i] = -v * v / 2
	}
	expBlock[F](density)
	for i, f := range x {
		v := float64(f)
		if unsafe.Sizeof(f) == 8 {
			p[i] = math.Erfc(-v/math.Sqrt2) / 2
		} else {
			tail := float64(density[i] * millsRatio(math.Abs(v)))
			if v > 0 {
				tail = 1 - tail
			}
			p[i] = tail
		}
		density[i] *= perRoot
	}
}

// millsRatio is P(-x)/exp(-x*x/2) to a relative error of 2e-7 for 0 <= x <= 15: a polynomial in
// 1/(1+0.3*x), of the form of Abramowitz and Stegun 26.2.17 with coefficients fitted for this range.
func millsRatio(x float64) float64 {
	t := 1 / (1 + float64(0.3*x))
	p := float64(0.0351785872589*t) - 0.155141768617
	p = float64(p*t) + 0.202815358397
	p = float64(p*t) - 0.0504432629096
	p = float64(p*t) + 0.126858197381
	p = float64(p*t) + 0.100425527721
	p = float64(p*t) + 0.120672740066
	p = float64(p*t) + 0.119634529928
	return p * t
}
