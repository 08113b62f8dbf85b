//go:build unix

package simd

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestExpError walks over all exponents and signs; e^x may be wrong by a unit in the last place.
func TestExpError(t *testing.T) {
	const n = 1024
	x, y := make([]float32, n), make([]float32, n)
	for _, s := range Sets() {
		for bits := uint64(0); bits < 1<<32; {
			for i := range x {
				x[i] = min(0, math.Float32frombits(uint32(bits)))
				bits += 1021
			}
			s.Exp(n, &y[0], &x[0], 0)
			for i, v := range x {
				want := math.Exp(float64(v))
				w := float32(want)
				ulp := float64(math.Nextafter32(w, math.MaxFloat32)) - float64(w)
				switch e := math.Abs(float64(y[i]) - want); {
				case v != v:
					if y[i] == y[i] {
						t.Fatalf("%s: e^NaN is %v", s.Name, y[i])
					}
				case v < -86.5: // where 0 begins is open
					if y[i] != 0 && e > ulp || v < -87.5 && y[i] != 0 {
						t.Fatalf("%s: e^%v is %v, want %v or 0", s.Name, v, y[i], want)
					}
				case e > ulp:
					t.Fatalf("%s: e^%v is %v, want %v (wrong by %.2f units in the last place)", s.Name, v, y[i], want, e/ulp)
				}
			}
		}
	}
}

// TestExp compares rows with float64, beside forbidden memory; elements far below the shift are 0.
func TestExp(t *testing.T) {
	inf := float32(math.Inf(-1))
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			x, y := normal(place(n), 100, 5), place(n)
			if n > 2 {
				x[n/2], x[n-1] = inf, -1e30
			}
			shift := slices.Max(x) + 0.25
			want, sum := make([]float64, n), 0.0
			for i, v := range x {
				want[i] = math.Exp(float64(v - shift))
				sum += want[i]
			}
			check := func(what string, got float64) {
				t.Helper()
				if !(math.Abs(got-sum) <= 4e-7*sum) {
					t.Fatalf("%s of %d is %v, want %v", what, n, got, sum)
				}
			}
			got := s.Exp(n, &y[0], &x[0], shift)
			check("sum", got)
			near(t, fmt.Sprint(n), y, want, 1e-6)
			if n > 2 && (y[n/2] != 0 || y[n-1] != 0) {
				t.Fatalf("%d: e^-Inf is %v, e^-1e30 %v", n, y[n/2], y[n-1])
			}
			if alone := s.ExpSum(n, &x[0], shift); alone != got {
				t.Fatalf("sum of %d alone is %v, with the row %v", n, alone, got)
			}
			check("sum in place", s.Exp(n, &x[0], &x[0], shift))
			near(t, fmt.Sprintf("%d in place", n), x, want, 1e-6)
		}
	})
}

func TestMax(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			for at := range n {
				x := normal(place(n), -100, 1)
				x[at] = -50
				if got := s.Max(n, &x[0]); got != -50 {
					t.Fatalf("maximum of %d is %v, want -50 at %d", n, got, at)
				}
				if n > 200 {
					break
				}
			}
		}
		if got := s.Max(0, nil); !math.IsInf(float64(got), -1) {
			t.Errorf("maximum of nothing is %v", got)
		}
	})
}

func TestScaleAndSubtract(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			x, y := normal(place(n), 0, 1), place(n)
			scaled, less := make([]float64, n), make([]float64, n)
			for i, v := range x {
				scaled[i], less[i] = float64(v)*0.7, float64(v)-3-0.1
			}
			s.Scale(n, &y[0], &x[0], 0.7)
			near(t, fmt.Sprintf("scale of %d", n), y, scaled, 1e-6)
			s.Subtract(n, &y[0], &x[0], 3, 0.1)
			near(t, fmt.Sprintf("difference of %d", n), y, less, 1e-6)
		}
	})
}

// TestSoftmaxGrads compares with the sums in float64, in place too.
func TestSoftmaxGrads(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			dy, y, dx := normal(place(n), 0, 1), place(n), place(n)
			var product, sum float64
			for i, g := range dy {
				y[i] = float32(i%5) / float32(3*n)
				product += float64(g) * float64(y[i])
				sum += float64(g)
			}
			want, log := make([]float64, n), make([]float64, n)
			for i, g := range dy {
				want[i] = float64(y[i]) * (float64(g) - product)
				log[i] = float64(g) - math.Exp(float64(y[i]))*sum
			}
			for _, c := range []struct {
				what  string
				grad  func(n int, dx, dy, y *float32)
				want  []float64
				limit float64 // the second one has a sum that cancels
			}{{"gradient", s.SoftmaxGrad, want, 1e-6}, {"gradient of the logarithm", s.LogSoftmaxGrad, log, 1e-5}} {
				c.grad(n, &dx[0], &dy[0], &y[0])
				near(t, fmt.Sprintf("%s of %d", c.what, n), dx, c.want, c.limit)
				copy(dx, dy)
				c.grad(n, &dx[0], &dx[0], &y[0])
				near(t, fmt.Sprintf("%s of %d in place", c.what, n), dx, c.want, c.limit)
			}
		}
	})
}

func BenchmarkSoftmax(b *testing.B) {
	const n = 4096
	x, y := normal(make([]float32, n), -5, 1), make([]float32, n)
	for _, s := range Sets() {
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"max", func() { s.Max(n, &x[0]) }},
			{"exp", func() { s.Exp(n, &y[0], &x[0], 0) }},
			{"exp sum", func() { s.ExpSum(n, &x[0], 0) }},
			{"scale", func() { s.Scale(n, &y[0], &x[0], 0.5) }},
			{"gradient", func() { s.SoftmaxGrad(n, &y[0], &x[0], &x[0]) }},
			{"gradient of the logarithm", func() { s.LogSoftmaxGrad(n, &y[0], &x[0], &x[0]) }},
		} {
			b.Run(s.Name+"/"+c.name, func(b *testing.B) { perElement(b, n, c.f) })
		}
	}
}
