package cpu

import (
	"math"
	"unsafe"
)

const expSteps = 32 // entries of exp2Table

// exp2Table[i] is 2^(i/32) as bits, less i<<47: adding k<<47 for any k = 32n+i makes it 2^(k/32).
var exp2Table = func() (t [expSteps]uint64) {
	for i := range t {
		t[i] = math.Float64bits(math.Exp2(float64(i)/expSteps)) - uint64(i)<<47
	}
	return t
}()

// expShort is e^x to a relative error of 1e-9, for results that end as float32: with x = (k+r)*ln2/32
// and |r| <= 1/2 it is 2^(k/32) from a table times the cubic Taylor polynomial. It holds for x from
// -expMax to expMax, and NaN gives NaN. It is just small enough to be inlined.
func expShort(x float64) float64 {
	const (
		scale = expSteps / math.Ln2
		round = 0x1.8p52 // adding it leaves an integer in the low bits
		c1    = math.Ln2 / expSteps
		c2    = c1 * c1 / 2
		c3    = c1 * c1 * c1 / 6
	)
	z := float64(x * scale)
	k := z + round
	r := z - (k - round)
	b := math.Float64bits(k)
	p := float64((float64((float64(r*c3)+c2)*r)+c1)*r) + 1
	return p * math.Float64frombits(exp2Table[b%expSteps]+b<<47)
}

// expMax is far beyond the arguments whose exponential float32 can hold: e^150 becomes +Inf, e^-150 zero.
const expMax = 150

// clampExp brings x into the range of expShort.
func clampExp(x float64) float64 {
	if x < -expMax {
		return -expMax
	}
	if x > expMax {
		return expMax
	}
	return x
}

// exp32 is e^x, rounded from a value accurate to 1e-9.
func exp32(x float32) float32 { return float32(expShort(clampExp(float64(x)))) }

// exp is e^x, in float32 by exp32.
func exp[F float](x F) F {
	if unsafe.Sizeof(x) == 4 {
		return F(exp32(float32(x)))
	}
	return F(math.Exp(float64(x)))
}

// expBlock replaces each x by e^x, to the accuracy that results of type F need.
func expBlock[F float](x []float64) {
	var f F
	if unsafe.Sizeof(f) == 8 {
		for i, v := range x {
			x[i] = math.Exp(v)
		}
		return
	}
	for i, v := range x {
		x[i] = expShort(clampExp(v))
	}
}
