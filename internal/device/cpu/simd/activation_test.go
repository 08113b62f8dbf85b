//go:build unix

package simd

import (
	"fmt"
	"math"
	"testing"
)

// activationForms are the functions and their derivatives in float64, by definition.
var activationForms = []struct {
	name  string
	of    func(s *Set) Activation
	f, df func(x float64) float64
}{
	{
		"relu", func(s *Set) Activation { return s.ReLU },
		func(x float64) float64 { return max(x, 0) },
		func(x float64) float64 {
			if x > 0 {
				return 1
			}
			return 0
		},
	},
	{
		"tanh form", func(s *Set) Activation { return s.GELUTanh },
		func(x float64) float64 { return x / (1 + math.Exp(-2*geluInner(x))) },
		func(x float64) float64 {
			e := math.Exp(-2 * geluInner(x))
			s := 1 / (1 + e)
			return s * (1 + x*e*s*2*math.Sqrt(2/math.Pi)*(1+3*0.044715*x*x))
		},
	},
	{
		"exact form", func(s *Set) Activation { return s.GELUExact },
		func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 },
		func(x float64) float64 {
			return math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
		},
	},
}

func geluInner(x float64) float64 { return math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }

// TestActivationError compares the functions and the gradients with float64 over the range where they are not at
// their limits.
func TestActivationError(t *testing.T) {
	const n = 1 << 17
	x, dy, y := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], dy[i] = float32(i-n/2)*(28./n), 1
	}
	for _, s := range Sets() {
		for _, c := range activationForms {
			a := c.of(s)
			a.Value(n, &y[0], &x[0])
			check := func(what string, f func(float64) float64, least float64) {
				for i, v := range x {
					// Numbers that float32 holds with few bits or none count as 0.
					if want := f(float64(v)); !(math.Abs(float64(y[i])-want) <= 1e-6*math.Abs(want)+least) {
						t.Fatalf("%s: %s of %v is %v, want %v", s.Name, what, v, y[i], want)
					}
				}
			}
			check(c.name, c.f, 2e-36)
			a.Grad(n, &y[0], &dy[0], &x[0])
			check("gradient of the "+c.name, c.df, 2e-7) // it goes through 0
		}
	}
}

// TestActivationSizes computes every length beside forbidden memory, in place too.
func TestActivationSizes(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			x, dy, y := normal(place(n), 0, 2), normal(place(n), 0, 1), place(n)
			for _, c := range activationForms {
				a := c.of(s)
				value, grad := make([]float64, n), make([]float64, n)
				for i, v := range x {
					value[i], grad[i] = c.f(float64(v)), float64(dy[i])*c.df(float64(v))
				}
				what := fmt.Sprintf("%s, %d", c.name, n)
				a.Value(n, &y[0], &x[0])
				near(t, what, y, value, 1e-6)
				copy(y, x)
				a.Value(n, &y[0], &y[0])
				near(t, what+" in place", y, value, 1e-6)
				a.Grad(n, &y[0], &dy[0], &x[0])
				near(t, "gradient of the "+what, y, grad, 1e-6)
				copy(y, dy)
				a.Grad(n, &y[0], &y[0], &x[0])
				near(t, "gradient of the "+what+" in place", y, grad, 1e-6)
			}
		}
	})
}

// TestActivationLimits holds what is far from 0, and NaN.
func TestActivationLimits(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	x := []float32{-inf, -math.MaxFloat32, -1e20, -60, 60, 1e20, math.MaxFloat32, inf}
	up := []float32{2, 2, 2, 2, 2, 2, 2, 2}
	for _, s := range Sets() {
		for _, c := range activationForms {
			a, y := c.of(s), make([]float32, len(x))
			a.Value(len(x), &y[0], &x[0])
			for i, v := range x {
				if y[i] != max(v, 0) {
					t.Errorf("%s: %s of %v is %v", s.Name, c.name, v, y[i])
				}
			}
			a.Grad(len(x), &y[0], &up[0], &x[0])
			for i, v := range x {
				if want := float32(2); y[i] != want && v > 0 || y[i] != 0 && v < 0 {
					t.Errorf("%s: gradient of the %s at %v is %v", s.Name, c.name, v, y[i])
				}
			}
			a.Value(1, &y[0], &nan)
			if y[0] == y[0] {
				t.Errorf("%s: %s of NaN is %v", s.Name, c.name, y[0])
			}
		}
	}
}

func BenchmarkActivation(b *testing.B) {
	const n = 4096
	x, y := normal(make([]float32, n), 0, 2), make([]float32, n)
	for _, s := range Sets() {
		for _, c := range activationForms {
			a := c.of(s)
			b.Run(s.Name+"/"+c.name, func(b *testing.B) {
				perElement(b, n, func() { a.Value(n, &y[0], &x[0]) })
			})
			b.Run(s.Name+"/"+c.name+" gradient", func(b *testing.B) {
				perElement(b, n, func() { a.Grad(n, &y[0], &x[0], &x[0]) })
			})
		}
	}
}

// perElement reports the time that f takes for one of its n elements.
func perElement(b *testing.B, n int, f func()) {
	for range b.N {
		f()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/element")
}
