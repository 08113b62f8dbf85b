package devicetest

import (
	"fmt"
	"math"
	"slices"

	"tinylm/internal/device"
)

// index steps through all coordinates of shape in row-major order.
func index(shape []int, visit func(i int, at []int)) {
	at := make([]int, len(shape))
	for i := range (device.Spec{Shape: shape}).Len() {
		visit(i, at)
		for a := len(shape) - 1; a >= 0; a-- {
			if at[a]++; at[a] < shape[a] {
				break
			}
			at[a] = 0
		}
	}
}

// linear returns the row-major position of at, where an axis of length 1 takes any coordinate.
func linear(shape, at []int) int {
	p := 0
	for a, n := range shape {
		p *= n
		if n > 1 {
			p += at[a]
		}
	}
	return p
}

// sumTo adds x up over the axes that are 1 in small.
func sumTo(x []float64, large, small []int) []float64 {
	y := make([]float64, device.Spec{Shape: small}.Len())
	index(large, func(i int, at []int) { y[linear(small, at)] += x[i] })
	return y
}

func sumCases() []Case {
	var cases []Case
	for _, s := range []struct{ x, y []int }{
		{[]int{}, []int{}}, {[]int{1}, []int{}}, {[]int{5}, []int{5}}, {[]int{7}, []int{}}, {[]int{3, 4}, []int{}},
		{[]int{1, 5}, []int{5}}, {[]int{6, 1}, []int{1}}, {[]int{9, 65}, []int{65}}, {[]int{2, 3, 4, 5}, []int{4, 5}},
		{[]int{700, 33}, []int{33}}, {[]int{30000, 3}, []int{3}}, {[]int{50001}, []int{}}, {[]int{2, 40, 257}, []int{40, 257}},
	} {
		ones := append(slices.Repeat([]int{1}, len(s.x)-len(s.y)), s.y...)
		cases = append(cases, Case{
			Name: fmt.Sprint(s.x, s.y), Kernel: device.SumLeading{},
			In: []Tensor{positive(1, s.x...)}, Out: []Tensor{empty(s.y...)},
			Ref: func(in [][]float64) [][]float64 { return [][]float64{sumTo(in[0], s.x, ones)} },
		})
	}
	for _, s := range []struct{ small, large []int }{
		{[]int{}, []int{}}, {[]int{1}, []int{1}}, {[]int{1}, []int{9}}, {[]int{4, 1}, []int{4, 7}}, {[]int{1, 7}, []int{4, 7}},
		{[]int{3, 1, 5}, []int{3, 70, 5}}, {[]int{1, 6, 1}, []int{5, 6, 17}}, {[]int{2, 1, 3, 1, 4}, []int{2, 3, 3, 2, 4}},
		{[]int{1, 1, 1}, []int{20, 30, 40}}, {[]int{300, 1}, []int{300, 65}}, {[]int{1, 300}, []int{65, 300}},
		{[]int{3, 4}, []int{3, 4}}, {[]int{2, 1, 1, 3}, []int{2, 5, 6, 3}},
	} {
		cases = append(cases, Case{
			Name: fmt.Sprint(s.large, s.small), Kernel: device.Reduce{},
			In: []Tensor{positive(2, s.large...)}, Out: []Tensor{empty(s.small...)},
			Ref: func(in [][]float64) [][]float64 { return [][]float64{sumTo(in[0], s.large, s.small)} },
		}, Case{
			Name: fmt.Sprint(s.small, s.large), Kernel: device.Expand{}, Exact: true,
			In: []Tensor{random(3, s.small...)}, Out: []Tensor{empty(s.large...)},
			Ref: func(in [][]float64) [][]float64 {
				y := make([]float64, device.Spec{Shape: s.large}.Len())
				index(s.large, func(i int, at []int) { y[i] = in[0][linear(s.small, at)] })
				return [][]float64{y}
			},
		})
	}
	for _, n := range []int{1, 3, 64, 8192, 8193, 40001} {
		cases = append(cases, Case{
			Name: fmt.Sprint(n), Kernel: device.SumSquares{},
			In: []Tensor{random(4, n)}, Out: []Tensor{of(device.Float64, []int{})},
			Ref: func(in [][]float64) [][]float64 {
				s := 0.0
				for _, v := range in[0] {
					s += v * v
				}
				return [][]float64{{s}}
			},
		})
	}
	return cases
}

func shapeCases() []Case {
	return slices.Concat(transposeCases(), columnCases(), copyCases(), rowMaxAndOneHot())
}

func transposeCases() []Case {
	var cases []Case
	for _, s := range []struct{ shape, perm []int }{
		{[]int{}, []int{}}, {[]int{5}, []int{0}}, {[]int{3, 4}, []int{1, 0}}, {[]int{3, 4}, []int{0, 1}},
		{[]int{65, 1}, []int{1, 0}}, {[]int{2, 5, 3, 4}, []int{0, 2, 1, 3}}, {[]int{2, 5, 3, 4}, []int{3, 1, 0, 2}},
		{[]int{130, 97}, []int{1, 0}}, {[]int{4, 3, 7}, []int{0, 2, 1}}, {[]int{4, 3, 7}, []int{1, 2, 0}},
	} {
		shape := make([]int, len(s.shape))
		for i, a := range s.perm {
			shape[i] = s.shape[a]
		}
		cases = append(cases, Case{
			Name: fmt.Sprint(s.shape, s.perm), Kernel: device.Transpose{Perm: s.perm}, Exact: true,
			In: []Tensor{random(1, s.shape...)}, Out: []Tensor{empty(shape...)},
			Ref: func(in [][]float64) [][]float64 {
				y := make([]float64, len(in[0]))
				index(shape, func(i int, at []int) {
					from := make([]int, len(at))
					for o, a := range s.perm {
						from[a] = at[o]
					}
					y[i] = in[0][linear(s.shape, from)]
				})
				return [][]float64{y}
			},
		})
	}
	return cases
}

// columnCases take columns of the last axis and put them back.
func columnCases() []Case {
	var cases []Case
	for _, s := range []struct{ rows, c, from, to int }{{1, 1, 0, 1}, {3, 7, 2, 5}, {3, 7, 0, 7}, {5, 4, 3, 3}, {301, 96, 32, 64}} {
		n := s.to - s.from
		name := fmt.Sprintf("%dx%d,%d:%d", s.rows, s.c, s.from, s.to)
		cases = append(cases, Case{
			Name: name, Kernel: device.SliceLast{From: s.from, To: s.to}, Exact: true,
			In: []Tensor{random(2, s.rows, s.c)}, Out: []Tensor{empty(s.rows, n)},
			Ref: func(in [][]float64) [][]float64 {
				y := []float64{}
				for r := range s.rows {
					y = append(y, in[0][r*s.c+s.from:r*s.c+s.to]...)
				}
				return [][]float64{y}
			},
		}, Case{
			Name: name, Kernel: device.PadLast{From: s.from, To: s.to}, Exact: true,
			In: []Tensor{random(3, s.rows, n)}, Out: []Tensor{empty(s.rows, s.c)},
			Ref: func(in [][]float64) [][]float64 {
				y := make([]float64, s.rows*s.c)
				for i, v := range in[0] {
					y[i/n*s.c+s.from+i%n] = v
				}
				return [][]float64{y}
			},
		})
	}
	return cases
}

func copyCases() []Case {
	var cases []Case
	for _, s := range [][2][]int{{{}, {1}}, {{6}, {2, 3}}, {{3, 5, 7}, {105}}, {{9, 2001}, {2001, 9}}} {
		for _, typ := range []device.DType{0, device.Int32, device.Int64, device.Bool} {
			x := random(4, s[0]...)
			x.DType = typ
			if typ != 0 {
				x.Data = apply(func(v float64) float64 { return math.Abs(math.Round(math.Remainder(v, 2))) }, x.Data)
			}
			cases = append(cases, Case{
				Name: fmt.Sprint(s, typ), Kernel: device.Copy{}, Exact: true,
				In: []Tensor{x}, Out: []Tensor{{DType: typ, Shape: s[1]}},
				Ref: func(in [][]float64) [][]float64 { return [][]float64{in[0]} },
			})
		}
	}
	return cases
}

func rowMaxAndOneHot() []Case {
	var cases []Case
	for _, s := range [][2]int{{1, 1}, {5, 7}, {3, 1}, {1, 65}, {400, 33}} {
		x := random(5, s[0], s[1])
		x.Data[0] = math.Inf(-1)
		cases = append(cases, Case{
			Name: fmt.Sprint(s), Kernel: device.RowMax{}, Exact: true,
			In: []Tensor{x}, Out: []Tensor{empty(s[0], 1)},
			Ref: func(in [][]float64) [][]float64 {
				var y []float64
				for row := range slices.Chunk(in[0], s[1]) {
					m := math.Inf(-1)
					for _, v := range row {
						m = math.Max(m, v)
					}
					y = append(y, m)
				}
				return [][]float64{y}
			},
		})
	}
	for _, typ := range []device.DType{device.Int32, device.Int64} {
		for _, v := range []int{1, 5, 3000} {
			ids := of(typ, []int{2, 5}, 0, 1, 4, -1, 5, 2999, 2, 2, 3000, -2147483648)
			cases = append(cases, Case{
				Name: fmt.Sprint(typ, v), Kernel: device.OneHot{}, Exact: true,
				In: []Tensor{ids}, Out: []Tensor{empty(2, 5, v)},
				Ref: func(in [][]float64) [][]float64 {
					y := make([]float64, 10*v)
					for i, id := range in[0] {
						if id >= 0 && id < float64(v) {
							y[i*v+int(id)] = 1
						}
					}
					return [][]float64{y}
				},
			})
		}
	}
	return cases
}
