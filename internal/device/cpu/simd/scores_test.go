//go:build unix

package simd

import (
	"fmt"
	"math"
	"testing"
)

// testStrip is a strip of scores in guarded memory: of row r the first count + r*more, at least none, count.
type testStrip struct {
	s                     []float32
	ld, rows, count, more int
	n, tail               int
	edge                  *float32
	back                  int
}

// eachStrip runs f for strips of many sizes, of each once filled with scores about 0 and of deviation 3, but that of
// every fifth row none, and of the others some, is finite. What does not count is no number.
func eachStrip(t *testing.T, f func(t *testing.T, s *Set, place func(n int) []float32, x testStrip)) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, rows := range []int{1, 2, 5, 14} {
			for _, count := range []int{-11, -3, 0, 1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 130} {
				for more := range 2 {
					if count < 1 && (more == 0 || count+rows <= 1) {
						continue // no key at all
					}
					x := testStrip{rows: rows, count: count, more: more, back: -4 * more}
					wide := count + more*(rows-1)
					x.n, x.tail, x.edge = Edge(count, wide)
					x.ld = (wide+15)&^15 + 16*(count&1)
					x.s = normal(place((rows-1)*x.ld+x.n+x.tail), 0, 3)
					for r := range rows {
						for j := range x.row(x.s, r) {
							switch {
							case j >= x.counted(r):
								x.row(x.s, r)[j] = float32([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e38}[j%4])
							case r%5 == 4 || j%7 == 3:
								x.row(x.s, r)[j] = float32(math.Inf(-1))
							}
						}
					}
					t.Run(fmt.Sprintf("%d rows of %d+%d", rows, count, more), func(t *testing.T) { f(t, s, place, x) })
				}
			}
		}
	})
}

// row returns the row of y, a strip like x's.
func (x testStrip) row(y []float32, r int) []float32 { return y[r*x.ld:][:x.n+x.tail] }

func (x testStrip) counted(r int) int { return max(0, x.count+r*x.more) }

// scores are those that count of a row, times scale.
func (x testStrip) scores(r int, scale float32) []float64 {
	var all []float64
	for _, v := range x.row(x.s, r)[:x.counted(r)] {
		all = append(all, float64(v*scale))
	}
	return all
}

func highest(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

// wantRow fails unless got begins with want, each value within limit, and goes on with zeros.
func wantRow(t *testing.T, what string, got []float32, want []float64, limit float64) {
	t.Helper()
	near(t, what, got, want, limit)
	for j, v := range got[len(want):] {
		if v != 0 {
			t.Fatalf("%s: value %d, which does not count, is %v", what, len(want)+j, v)
		}
	}
}

func near1(t *testing.T, what string, got float32, want float64) {
	t.Helper()
	if !(float64(got) == want || math.Abs(float64(got)-want) <= 1e-6*math.Abs(want)) {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// TestWeights takes a strip as the first scores of its rows, or after others whose maximum and sum state holds.
func TestWeights(t *testing.T) {
	const scale = 0.3
	eachStrip(t, func(t *testing.T, s *Set, place func(n int) []float32, x testStrip) {
		state, change := place(2*x.rows), place(x.rows)
		before, first := make([]float64, 2*x.rows), x.rows%2 == 1 && x.count > 0
		for r := range x.rows {
			state[2*r], state[2*r+1] = float32([]float64{-0.5, math.Inf(-1), 1000, -100}[r%4]), float32([]float64{2.5, 0, 3, 7}[r%4])
			before[2*r], before[2*r+1] = float64(state[2*r]), float64(state[2*r+1])
			if first {
				before[2*r], before[2*r+1] = math.Inf(-1), 0
			}
		}
		want := make([][]float64, x.rows)
		for r := range want {
			want[r] = x.scores(r, scale)
		}
		if first {
			s.FirstTops(&x.s[0], 4*x.ld, x.rows, x.n, x.tail, x.edge, x.back, scale, &state[0])
		} else {
			s.Tops(&x.s[0], 4*x.ld, x.rows, x.n, x.tail, x.edge, x.back, scale, &state[0], &change[0])
		}
		s.Weights(&x.s[0], 4*x.ld, x.rows, x.n, x.tail, x.edge, x.back, scale, &state[0])
		for r, w := range want {
			m := max(before[2*r], highest(w))
			shift, grown, sum := m, math.Exp(before[2*r]-m), 0.0
			if math.IsInf(m, -1) {
				shift, grown = 0, 0
			}
			for j := range w {
				w[j] = math.Exp(w[j] - shift)
				sum += w[j]
			}
			wantRow(t, fmt.Sprintf("weights of row %d", r), x.row(x.s, r), w, 3e-7)
			near1(t, fmt.Sprintf("maximum of row %d", r), state[2*r], m)
			near1(t, fmt.Sprintf("sum of row %d", r), state[2*r+1], before[2*r+1]*grown+sum)
			if !first && grown > 1e-20 {
				near1(t, fmt.Sprintf("change of row %d", r), change[r], grown)
			}
		}
	})
}

// A weight below 2^-72 is 0, no other is; a NaN that counts stays.
func TestWeightsAtTheEnds(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		row, state := place(16), place(2)
		for i, v := range []float64{5, 5 - 49.8, 5 - 50, -95, -130, -1e9, -1e38, math.Inf(-1)} {
			row[i] = float32(v)
		}
		n, tail, edge := Edge(8, 8)
		s.FirstTops(&row[0], 64, 1, n, tail, edge, 0, 1, &state[0])
		s.Weights(&row[0], 64, 1, n, tail, edge, 0, 1, &state[0])
		if row[0] != 1 || math.Abs(float64(row[1])/math.Exp(-49.8)-1) > 3e-6 || state[0] != 5 || state[1] != 1 {
			t.Errorf("weights %v, %v, state %v", row[0], row[1], state)
		}
		for i, w := range row[2:] {
			if w != 0 {
				t.Errorf("weight %d is %v", i+2, w)
			}
		}
		row[0], row[1] = 1, float32(math.NaN())
		s.FirstTops(&row[0], 64, 1, n, tail, edge, 0, 1, &state[0])
		s.Weights(&row[0], 64, 1, n, tail, edge, 0, 1, &state[0])
		if row[1] == row[1] || state[1] == state[1] {
			t.Errorf("NaN became the weight %v, the sum %v", row[1], state[1])
		}
	})
}

// TestScoreGrad gives the kernels the maximum and the sum of each row, and a delta or none.
func TestScoreGrad(t *testing.T) {
	const scale, slope = 0.3, 0.7
	eachStrip(t, func(t *testing.T, s *Set, place func(n int) []float32, x testStrip) {
		stats, delta := place(2*x.rows), normal(place(x.rows), 0, 1)
		dw := normal(place(len(x.s)), 0, 1)
		wantW, wantDs := make([][]float64, x.rows), make([][]float64, x.rows)
		given := x.rows%2 == 0
		for r := range x.rows {
			w := x.scores(r, scale)
			m, sum := highest(w), 0.0
			if math.IsInf(m, -1) {
				m = 0
			}
			for j := range w {
				w[j] = math.Exp(w[j] - m)
				sum += w[j]
			}
			inv := 0.0
			if sum > 0 {
				inv = 1 / sum
			}
			stats[2*r], stats[2*r+1] = float32(m), float32(inv)
			up, dot := x.row(dw, r), 0.0
			for j := range w {
				w[j] *= inv
				dot += w[j] * float64(up[j])
			}
			if given {
				dot = float64(delta[r])
			}
			for j := range w {
				wantDs[r] = append(wantDs[r], w[j]*(float64(up[j])-dot)*slope)
			}
			for j := len(w); j < len(up); j++ {
				up[j] = float32([]float64{math.NaN(), math.Inf(1), 1e38}[j%3])
			}
			wantW[r] = w
		}
		if given {
			s.ScoreGrad(&x.s[0], 4*x.ld, x.rows, x.n, x.tail, x.edge, x.back, scale, slope, &dw[0], &stats[0], &delta[0])
		} else {
			s.Deltas(&x.s[0], 4*x.ld, x.rows, x.n, x.tail, x.edge, x.back, scale, &dw[0], &stats[0], &delta[0])
			s.WeightGrad(&x.s[0], 4*x.ld, x.rows, x.n, x.tail, x.edge, x.back, slope, &dw[0], &delta[0])
		}
		for r := range x.rows {
			wantRow(t, fmt.Sprintf("weights of row %d", r), x.row(x.s, r), wantW[r], 1e-6)
			wantRow(t, fmt.Sprintf("gradients of row %d", r), x.row(dw, r), wantDs[r], 1e-6)
		}
	})
}

// TestStrips takes rows that lie apart; what is between them stays.
func TestStrips(t *testing.T) {
	const rows, gap = 3, 2
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for _, n := range oddSizes {
			ld := n + gap
			strip := func() []float32 { return normal(place((rows-1)*ld+n), 0, 1) }
			x, y, factors := strip(), strip(), normal(place(2*rows), 0, 1)
			var sum, product, scaled, dots []float64
			for i, v := range y {
				at := i / ld * ld
				if i-at >= n {
					sum, product, scaled = append(sum, float64(v)), append(product, float64(v)), append(scaled, float64(v))
					continue
				}
				if i == at {
					dots = append(dots, 0)
				}
				dots[i/ld] += float64(v) * float64(x[i])
				sum = append(sum, float64(v)+float64(x[i]))
				product = append(product, float64(v)*float64(x[i]))
				scaled = append(scaled, float64(x[i])*float64(factors[i/ld*2]))
			}
			again := func() []float32 { c := place(len(y)); copy(c, y); return c }
			got, to := again(), place(rows)
			s.DotStrips(&to[0], &x[0], 4*ld, &got[0], 4*ld, rows, n)
			near(t, "dots", to, dots, 1e-5)
			s.AddStrip(&got[0], 4*ld, &x[0], 4*ld, rows, n)
			near(t, "sum", got, sum, 1e-6)
			got = again()
			s.MultiplyStrip(&got[0], 4*ld, &x[0], 4*ld, rows, n)
			near(t, "product", got, product, 1e-6)
			got = again()
			s.ScaleStrip(&got[0], 4*ld, &x[0], 4*ld, rows, n, &factors[0], 8)
			near(t, "scaled", got, scaled, 1e-6)
		}
	})
}
