package composed

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/node"
)

// ReLU is max(x, 0); its gradient at 0 is 0. Any shape.
func ReLU(x *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "relu"}
	e.float(x)
	return e.result(e.fill(x, e.where(gorgonia.Lte, x, 0), 0))
}

// GELU is x/2*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3))) (Hendrycks and Gimpel 2016, section 2). Any shape.
func GELU(x *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "gelu"}
	e.float(x)
	x = e.atLeast(x, -geluFar)
	z := e.atMost(x, geluFar)
	cube := e.mul(e.square(z), z)
	u := e.times(e.add(z, e.times(cube, 0.044715)), math.Sqrt(2/math.Pi))
	return e.result(e.mul(e.times(x, 0.5), e.plus(e.tanh(u), 1)))
}

// GELUExact is x/2*(1+erf(x/sqrt(2))). Any shape.
func GELUExact(x *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "exact gelu"}
	e.float(x)
	x = e.atLeast(x, -geluFar)
	erf := e.erf(e.times(x, 1/math.Sqrt2))
	return e.result(e.mul(e.times(x, 0.5), e.plus(erf, 1)))
}

// geluFar is a distance from 0 at which both forms of GELU and their slopes are the limits 0 and 0, x and 1.
// Beyond it, the formulas would multiply 0 and infinity.
const geluFar = 40

// atLeast and atMost replace x beyond a limit by it; the slope is 0 there.
func (e *expr) atLeast(x *gorgonia.Node, v float64) *gorgonia.Node {
	return e.fill(x, e.where(gorgonia.Lt, x, v), v)
}

func (e *expr) atMost(x *gorgonia.Node, v float64) *gorgonia.Node {
	return e.fill(x, e.where(gorgonia.Gt, x, v), v)
}

// erf is 2z/sqrt(pi) times the integral of exp(-z²t²) for t in 0..1, by Gauss and Legendre's rule: the
// exponentials of all points are one matrix product away from the integral. Beyond |z| = 6 the error
// function is 1 within 2e-17, so z is cut there; within, the rule is exact to rounding.
func (e *expr) erf(z *gorgonia.Node) *gorgonia.Node {
	if e.err != nil {
		return z
	}
	const cut = 6
	z = e.atLeast(e.atMost(z, cut), -cut)
	n := z.Shape().TotalSize()
	squares := e.reshape(e.square(z), n, 1) // (N, 1)
	points, weights := e.erfRule(z)         // (1, K), (K, 1)
	exps := e.exp(e.matMul(squares, points, false, false))
	integral := e.reshape(e.matMul(exps, weights, false, false), node.Dims(z)...)
	return e.times(e.mul(z, integral), 2/math.Sqrt(math.Pi))
}

// erfPoints is the number of points of the rule; with 24 the error is below 1e-15.
const erfPoints = 24

// erfRule adds the rule to the graph of x: the points as -t² (1, K) and their weights (K, 1).
func (e *expr) erfRule(x *gorgonia.Node) (points, weights *gorgonia.Node) {
	t, w := gaussLegendre(erfPoints)
	for i := range t {
		t[i] *= -t[i]
	}
	table := func(name string, v []float64, shape ...int) *gorgonia.Node {
		name = fmt.Sprintf("composed.erf.%s.%v", name, x.Dtype())
		return gorgonia.NodeFromAny(x.Graph(), dense(x.Dtype(), v, shape), gorgonia.WithName(name))
	}
	return table("points", t, 1, erfPoints), table("weights", w, erfPoints, 1)
}

func dense(t tensor.Dtype, v []float64, shape []int) *tensor.Dense {
	if t == tensor.Float64 {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
	}
	single := make([]float32, len(v))
	for i, x := range v {
		single[i] = float32(x)
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(single))
}

// gaussLegendre returns the points and weights of the n-point rule on 0..1: the roots of the Legendre
// polynomial P_n, found by Newton's method (Abramowitz and Stegun 1964, 25.4.29).
func gaussLegendre(n int) (points, weights []float64) {
	for i := range n {
		x := -math.Cos(math.Pi * (float64(i) + 0.75) / (float64(n) + 0.5))
		slope := 0.0
		for range 10 {
			p, before := 1.0, 0.0 // P_j, P_j-1
			for j := range n {
				k := float64(j)
				p, before = ((2*k+1)*x*p-k*before)/(k+1), p
			}
			slope = float64(n) * (x*p - before) / (x*x - 1)
			x -= p / slope
		}
		points = append(points, (x+1)/2)
		weights = append(weights, 1/((1-x*x)*slope*slope))
	}
	return points, weights
}
