//go:build unix

package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tinylm/internal/guard"
)

// guarded runs f for every set, with memory that ends where a forbidden page begins and with memory that
// begins where one ends.
func guarded(t *testing.T, f func(t *testing.T, s *Set, alloc func(n int) []float32)) {
	for _, s := range Sets() {
		for name, alloc := range map[string]func(testing.TB, int) []float32{"before": guard.Before, "after": guard.After} {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				f(t, s, func(n int) []float32 { return alloc(t, max(n, 1))[:n] })
			})
		}
	}
}

// A matrix is rows of cols floats, ld floats apart; between them lie gaps.
type matrix struct {
	data           []float32
	rows, cols, ld int
}

const gap = -77 // value of the elements in gaps

func newMatrix(alloc func(int) []float32, rows, cols, ld int) matrix {
	m := matrix{alloc(max(0, (rows-1)*ld+cols)), rows, cols, ld}
	for i := range m.data {
		m.data[i] = gap
		if i%ld < cols {
			m.data[i] = float32(rand.NormFloat64())
		}
	}
	return m
}

func (m matrix) at(i, j int) float64 { return float64(m.data[i*m.ld+j]) }

func (m matrix) pointer() *float32 {
	if len(m.data) == 0 {
		return nil
	}
	return &m.data[0]
}

// check compares the elements with want, to a relative error of sum(|terms|) that want also returns, and
// looks for gaps that were written.
func (m matrix) check(t *testing.T, what string, want func(i, j int) (value, size float64)) {
	t.Helper()
	for i, v := range m.data {
		if i%m.ld >= m.cols {
			if v != gap {
				t.Fatalf("%s: wrote %v behind row %d", what, v, i/m.ld)
			}
			continue
		}
		value, size := want(i/m.ld, i%m.ld)
		if e := math.Abs(float64(v) - value); !(e <= 1e-6*size) {
			t.Fatalf("%s: element (%d, %d) is %v, want %v", what, i/m.ld, i%m.ld, v, value)
		}
	}
}

// aroundLanes are numbers of columns around whole and half tiles.
func aroundLanes(s *Set) []int {
	n := s.TileCols
	return []int{1, 2, n/2 - 1, n / 2, n/2 + 1, n - 1, n}
}

func TestTiles(t *testing.T) {
	guarded(t, func(t *testing.T, s *Set, alloc func(int) []float32) {
		for rows := 1; rows <= s.TileRows; rows++ {
			for _, cols := range aroundLanes(s) {
				for _, k := range []int{0, 1, 3, 4, 6, 33} {
					for variant := range 8 {
						checkTile(t, s, alloc, rows, cols, k, variant)
					}
				}
			}
		}
	})
}

// checkTile tests one tile; the bits of variant choose the layout of A, start, and add (its own memory or c).
func checkTile(t *testing.T, s *Set, alloc func(int) []float32, rows, cols, k, variant int) {
	t.Helper()
	a := newMatrix(alloc, rows, k, k+3)
	row, col := 4*a.ld, 4
	element := a.at
	if variant&1 != 0 {
		a = newMatrix(alloc, k, rows, rows+2)
		row, col = 4, 4*a.ld
		element = func(i, p int) float64 { return a.at(p, i) }
	}
	whole := s.TileCols
	if cols <= whole/2 {
		whole /= 2
	}
	b := newMatrix(alloc, k, whole, whole+variant)
	c := newMatrix(alloc, rows, cols, cols+variant%3)
	start, add := matrix{}, matrix{ld: 1}
	if variant&2 != 0 {
		start = newMatrix(alloc, 1, cols, cols)
	}
	before := append([]float32(nil), c.data...)
	from := matrix{before, rows, cols, c.ld}
	switch {
	case variant&4 == 0:
	case variant&3 == 0:
		add = newMatrix(alloc, rows, cols, cols+5)
		from = add
	default:
		add = c
	}
	s.Tiles[rows](k, a.pointer(), row, col, b.pointer(), 4*b.ld, cols, c.pointer(), 4*c.ld, start.pointer(), add.pointer(), 4*add.ld)
	c.check(t, fmt.Sprintf("%dx%d, k %d, variant %d", rows, cols, k, variant), func(i, j int) (sum, size float64) {
		term := func(v float64) { sum, size = sum+v, size+math.Abs(v) }
		if start.data != nil {
			term(start.at(0, j))
		}
		if add.data != nil {
			term(from.at(i, j))
		}
		for p := range k {
			term(element(i, p) * b.at(p, j))
		}
		return sum, size
	})
}

func TestPacks(t *testing.T) {
	guarded(t, func(t *testing.T, s *Set, alloc func(int) []float32) {
		for _, cols := range aroundLanes(s) {
			for _, k := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64} {
				whole := s.TileCols
				if cols <= whole/2 {
					whole /= 2
				}
				for _, ldd := range []int{whole, whole + 3} {
					what := fmt.Sprintf("k %d, cols %d, ldd %d", k, cols, ldd)
					src := newMatrix(alloc, k, cols, cols+2)
					dst := newMatrix(alloc, k, whole, ldd)
					s.PackRows(k, src.pointer(), 4*src.ld, cols, dst.pointer(), 4*ldd)
					dst.check(t, "rows, "+what, func(i, j int) (float64, float64) {
						if j < cols {
							return src.at(i, j), 0
						}
						return 0, 0
					})
					src = newMatrix(alloc, cols, k, k+1)
					dst = newMatrix(alloc, k, whole, ldd)
					s.PackColumns(k, src.pointer(), 4*src.ld, cols, dst.pointer(), 4*ldd)
					dst.check(t, "columns, "+what, func(i, j int) (float64, float64) {
						if j < cols {
							return src.at(j, i), 0
						}
						return 0, 0
					})
				}
			}
		}
	})
}

// lengths are the sizes of vectors around whole registers and their multiples.
var lengths = []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 130}

func TestDotRows(t *testing.T) {
	guarded(t, func(t *testing.T, s *Set, alloc func(int) []float32) {
		for _, n := range []int{1, 2, 7, 8, 9, 17, 24} {
			for _, k := range lengths {
				w, x, y := newMatrix(alloc, n, k, k+n%3), newMatrix(alloc, 1, k, k), newMatrix(alloc, 1, n, n)
				s.DotRows(n, k, x.pointer(), w.pointer(), 4*w.ld, y.pointer())
				y.check(t, fmt.Sprintf("n %d, k %d", n, k), func(_, i int) (sum, size float64) {
					for j := range k {
						v := x.at(0, j) * w.at(i, j)
						sum, size = sum+v, size+math.Abs(v)
					}
					return sum, size
				})
				last := y.data[n-1]
				s.DotRows(1, k, x.pointer(), &w.data[(n-1)*w.ld], 4*w.ld, y.pointer())
				if y.data[0] != last {
					t.Fatalf("n %d, k %d: the last row alone gives %v, with the others %v", n, k, y.data[0], last)
				}
			}
		}
	})
}

func TestAddRows(t *testing.T) {
	guarded(t, func(t *testing.T, s *Set, alloc func(int) []float32) {
		for _, k := range []int{1, 2, 7, 8, 9, 17, 24} {
			for _, n := range lengths {
				w, x, y := newMatrix(alloc, k, n, n+k%3), newMatrix(alloc, 1, k, k), newMatrix(alloc, 1, n, n)
				before := append([]float32(nil), y.data...)
				s.AddRows(k, n, x.pointer(), w.pointer(), 4*w.ld, y.pointer())
				y.check(t, fmt.Sprintf("k %d, n %d", k, n), func(_, j int) (sum, size float64) {
					sum = float64(before[j])
					size = math.Abs(sum)
					for i := range k {
						v := x.at(0, i) * w.at(i, j)
						sum, size = sum+v, size+math.Abs(v)
					}
					return sum, size
				})
				whole := append([]float32(nil), y.data...)
				copy(y.data, before)
				s.AddRows(1, n, x.pointer(), w.pointer(), 4*w.ld, y.pointer())
				if k > 1 {
					s.AddRows(k-1, n, &x.data[1], &w.data[w.ld], 4*w.ld, y.pointer())
				}
				for j := range whole {
					if y.data[j] != whole[j] {
						t.Fatalf("k %d, n %d: in two steps element %d is %v, in one %v", k, n, j, y.data[j], whole[j])
					}
				}
			}
		}
	})
}
