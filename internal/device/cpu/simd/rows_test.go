//go:build unix

package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tinylm/internal/guard"
)

// oddSizes are lengths around those of vectors and turns of loops.
var oddSizes = []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 79, 127, 128, 129, 255, 257, 384, 1003}

// placements are the two ways to put floats beside forbidden memory.
var placements = map[string]func(testing.TB, int) []float32{"before": guard.Before, "after": guard.After}

// eachPlacement runs f with every set and placement.
func eachPlacement(t *testing.T, f func(t *testing.T, s *Set, place func(n int) []float32)) {
	for _, s := range Sets() {
		for name, place := range placements {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				numbers = rand.New(rand.NewPCG(1, 2))
				f(t, s, func(n int) []float32 { return place(t, n) })
			})
		}
	}
}

// numbers are random, but the same in every test and run: eachPlacement begins them anew.
var numbers *rand.Rand

// normal fills x with random values about a mean.
func normal(x []float32, mean, deviation float64) []float32 {
	for i := range x {
		x[i] = float32(mean + deviation*numbers.NormFloat64())
	}
	return x
}

// near fails unless each value differs from want by at most limit times the largest of want and 1.
func near(t *testing.T, what string, got []float32, want []float64, limit float64) {
	t.Helper()
	scale := 1.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= limit*scale) {
			t.Fatalf("%s: value %d is %v, want %v (%.1g of the largest)", what, i, got[i], w, math.Abs(float64(got[i])-w)/scale)
		}
	}
}

func TestAdd(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			a, b, y := normal(place(n), 0, 1), normal(place(n), 0, 1), place(n)
			s.Add(n, &y[0], &a[0], &b[0])
			for i := range y {
				if y[i] != a[i]+b[i] {
					t.Fatalf("%d: value %d is %v, want %v + %v", n, i, y[i], a[i], b[i])
				}
			}
			s.Add(n, &a[0], &a[0], &b[0])
			for i := range y {
				if y[i] != a[i] {
					t.Fatalf("%d in place: value %d is %v, want %v", n, i, a[i], y[i])
				}
			}
		}
		s.Add(0, nil, nil, nil)
	})
}

func TestSumSquares(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			x := normal(place(n), 0, 1e20) // whose squares are no float32
			want := 0.0
			for _, v := range x {
				want += float64(v) * float64(v)
			}
			if got := s.SumSquares(n, &x[0]); math.Abs(got-want) > 1e-14*want {
				t.Errorf("%d: sum is %v, want %v", n, got, want)
			}
		}
		if got := s.SumSquares(0, nil); got != 0 {
			t.Errorf("the sum of nothing is %v", got)
		}
	})
}

func TestSumRows(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, cols := range oddSizes {
			for _, rows := range []int{0, 1, 2, 3, 4, 5, 7, 8, 64, 101} {
				for _, gap := range []int{0, 3} { // between rows
					stride := cols + gap
					x, y := normal(place(max(1, rows*stride)), 1, 1), normal(place(cols), 0, 1)
					if gap > 0 && rows > 0 {
						x = x[:(rows-1)*stride+cols]
					}
					want := make([]float64, cols)
					for j := range want {
						want[j] = float64(y[j])
						for i := range rows {
							want[j] += float64(x[i*stride+j])
						}
					}
					s.SumRows(rows, cols, &y[0], &x[0], 4*stride)
					near(t, fmt.Sprintf("%dx%d, gap %d", rows, cols, gap), y, want, 1e-6)
				}
			}
		}
	})
}

func TestNorm(t *testing.T) {
	const eps = 1e-5
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, cols := range oddSizes {
			for _, rows := range []int{1, 3} {
				for _, mean := range []float64{0, 100} { // far from 0, squares must not be subtracted
					what := fmt.Sprintf("%dx%d about %v", rows, cols, mean)
					x, weight, bias := normal(place(rows*cols), mean, 1), normal(place(cols), 1, 1), normal(place(cols), 0, 1)
					y, means, rstds := place(rows*cols), place(rows), place(rows)
					s.Norm(rows, cols, &x[0], &weight[0], &bias[0], eps, &y[0], &means[0], &rstds[0])
					wantY, wantMean, wantRstd := normRef(cols, x, weight, bias, eps)
					near(t, what+": mean", means, wantMean, 2e-7)
					near(t, what+": rstd", rstds, wantRstd, 1e-5)
					near(t, what+": y", y, wantY, 1e-5*max(1, slices.Max(wantRstd))) // which magnifies the mean's rounding
				}
			}
		}
	})
}

func normRef(cols int, x, weight, bias []float32, eps float64) (y, means, rstds []float64) {
	for at := 0; at < len(x); at += cols {
		row := x[at : at+cols]
		mean, variance := total(row)/float64(cols), 0.0
		for _, v := range row {
			variance += (float64(v) - mean) * (float64(v) - mean) / float64(cols)
		}
		rstd := 1 / math.Sqrt(variance+eps)
		for i, v := range row {
			y = append(y, float64(weight[i])*(float64(v)-mean)*rstd+float64(bias[i]))
		}
		means, rstds = append(means, mean), append(rstds, rstd)
	}
	return y, means, rstds
}

// A row of equal values has exactly that mean, so that it becomes the bias.
func TestNormOfEqualValues(t *testing.T) {
	for _, s := range Sets() {
		for _, cols := range oddSizes {
			x, weight, bias := make([]float32, cols), make([]float32, cols), make([]float32, cols)
			for i := range x {
				x[i], weight[i], bias[i] = 1234.1, 3, float32(i)
			}
			y, mean, rstd := make([]float32, cols), make([]float32, 1), make([]float32, 1)
			s.Norm(1, cols, &x[0], &weight[0], &bias[0], 1e-5, &y[0], &mean[0], &rstd[0])
			near(t, "rstd", rstd, []float64{1 / math.Sqrt(1e-5)}, 1e-6)
			for i, v := range y {
				if v != bias[i] || mean[0] != x[0] {
					t.Fatalf("%s: %d equal values: mean %v, value %d is %v, want %v", s.Name, cols, mean[0], i, v, bias[i])
				}
			}
		}
	}
}

func TestNormGrad(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, cols := range oddSizes {
			for _, rows := range []int{1, 3} {
				x, weight, dy, base := normal(place(rows*cols), 1, 2), normal(place(cols), 1, 1), normal(place(rows*cols), 0, 1), normal(place(rows*cols), 0, 1)
				mean, rstd, dw, db := normal(place(rows), 1, 1), normal(place(rows), 1, 0.1), normal(place(cols), 0, 1), normal(place(cols), 0, 1)
				wantX, wantW, wantB := normGradRef(cols, x, weight, mean, rstd, dy, dw, db)
				dx := place(rows * cols)
				s.NormGrad(rows, cols, nil, &x[0], &weight[0], &mean[0], &rstd[0], &dy[0], &dx[0], &dw[0], &db[0])
				what := fmt.Sprintf("%dx%d", rows, cols)
				near(t, what+": dx", dx, wantX, 5e-6)
				near(t, what+": dweight", dw, wantW, 2e-6)
				near(t, what+": dbias", db, wantB, 1e-6)
				for i, b := range base {
					wantX[i] += float64(b)
				}
				s.NormGrad(rows, cols, &base[0], &x[0], &weight[0], &mean[0], &rstd[0], &dy[0], &dx[0], &dw[0], &db[0])
				near(t, what+": dx on base", dx, wantX, 5e-6)
				s.NormGrad(rows, cols, &base[0], &x[0], &weight[0], &mean[0], &rstd[0], &dy[0], &base[0], &dw[0], &db[0])
				near(t, what+": dx in place", base, wantX, 5e-6)
			}
		}
	})
}

// normGradRef returns dx, and dw and db with what the rows add to them, for any mean and rstd.
func normGradRef(cols int, x, weight, mean, rstd, dy, dw, db []float32) (dx, dweight, dbias []float64) {
	for i := range dw {
		dweight, dbias = append(dweight, float64(dw[i])), append(dbias, float64(db[i]))
	}
	for r := range mean {
		h, g := make([]float64, cols), make([]float64, cols)
		sum, dot := 0.0, 0.0
		for i := range cols {
			up := float64(dy[r*cols+i])
			h[i] = (float64(x[r*cols+i]) - float64(mean[r])) * float64(rstd[r])
			g[i] = up * float64(weight[i])
			dweight[i] += up * h[i]
			dbias[i] += up
			sum += g[i]
			dot += g[i] * h[i]
		}
		for i := range cols {
			dx = append(dx, float64(rstd[r])*(g[i]-sum/float64(cols)-h[i]*dot/float64(cols)))
		}
	}
	return dx, dweight, dbias
}

func TestAdamW(t *testing.T) {
	h := &AdamWFactors[float32]{Scale: 0.3, Blend1: 0.1, Beta2: 0.95, Blend2: 0.05, Root: 1.7, Eps: 1e-3, Keep: 0.99, Step: -0.02}
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			w, m, g := normal(place(n), 0, 1), normal(place(n), 0, 1), normal(place(n), 0, 1)
			v := normal(place(n), 2, 0.1)
			var wantW, wantM, wantV []float64
			for i := range w {
				grad := float64(h.Scale) * float64(g[i])
				mean := float64(m[i]) + float64(h.Blend1)*(grad-float64(m[i]))
				square := float64(h.Beta2)*float64(v[i]) + float64(h.Blend2)*grad*grad
				update := float64(h.Step) * mean / (float64(h.Root)*math.Sqrt(square) + float64(h.Eps))
				wantM, wantV = append(wantM, mean), append(wantV, square)
				wantW = append(wantW, float64(h.Keep)*float64(w[i])+update)
			}
			s.AdamW(n, &w[0], &m[0], &v[0], &g[0], h)
			near(t, "w", w, wantW, 2e-7)
			near(t, "m", m, wantM, 2e-7)
			near(t, "v", v, wantV, 2e-7)
		}
	})
}
