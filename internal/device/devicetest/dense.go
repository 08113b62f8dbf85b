package devicetest

import (
	"fmt"
	"math"
	"slices"

	"tinylm/internal/device"
)

// denseCases are the kernels that treat all elements alike: products, sums, element-wise functions,
// changes of shape and the optimizer.
func denseCases() []Case {
	return slices.Concat(matMulCases(), linearCases(), activationCases(), addCases(), sumCases(),
		shapeCases(), optimizerCases(), denseErrors())
}

// product returns the matrix a (m, k) times b (k, n), read through element functions.
func product(m, n, k int, a, b func(i, j int) float64) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for p := range k {
				c[i*n+j] += a(i, p) * b(p, j)
			}
		}
	}
	return c
}

// matrix reads v, rows of the given width, or its transpose.
func matrix(v []float64, width int, trans bool) func(i, j int) float64 {
	if trans {
		return func(i, j int) float64 { return v[j*width+i] }
	}
	return func(i, j int) float64 { return v[i*width+j] }
}

func swapIf(swap bool, a, b int) (int, int) {
	if swap {
		return b, a
	}
	return a, b
}

// sizes are M, N and K of products: single elements and rows, sizes around the edges of tiles and of
// blocks, and one that no small number divides.
var sizes = [][3]int{
	{1, 1, 1}, {1, 7, 3}, {5, 1, 4}, {3, 5, 1}, {2, 4, 2}, {4, 8, 16}, {17, 65, 13}, {33, 31, 66},
	{1, 65, 129}, {130, 67, 30}, {70, 132, 257}, {9, 6, 700},
}

func matMulCases() []Case {
	var cases []Case
	add := func(lead []int, m, n, k int, transA, transB bool) {
		g := device.Spec{Shape: lead}.Len()
		am, ak := swapIf(transA, m, k)
		bk, bn := swapIf(transB, k, n)
		cases = append(cases, Case{
			Name:   fmt.Sprintf("%vx(%dx%dx%d),%v,%v", lead, m, n, k, transA, transB),
			Kernel: device.MatMul{TransA: transA, TransB: transB},
			In:     []Tensor{random(1, append(slices.Clone(lead), am, ak)...), random(2, append(slices.Clone(lead), bk, bn)...)},
			Out:    []Tensor{empty(append(slices.Clone(lead), m, n)...)},
			Ref: func(in [][]float64) [][]float64 {
				var c []float64
				for p := range g {
					a, b := in[0][p*m*k:], in[1][p*k*n:]
					c = append(c, product(m, n, k, matrix(a, ak, transA), matrix(b, bn, transB))...)
				}
				return [][]float64{c}
			},
		})
	}
	for _, transA := range []bool{false, true} {
		for _, transB := range []bool{false, true} {
			for _, s := range sizes {
				add(nil, s[0], s[1], s[2], transA, transB)
			}
			add([]int{3}, 5, 7, 6, transA, transB)
			add([]int{2, 3}, 16, 16, 8, transA, transB)
			add([]int{40, 1}, 3, 2, 5, transA, transB)
		}
	}
	return cases
}

func linearCases() []Case {
	var cases []Case
	for _, trans := range []bool{false, true} {
		for i, s := range sizes {
			n, m, k := s[0], s[1], s[2]
			wk, wm := swapIf(trans, k, m)
			rows := []int{n}
			if n%5 == 0 {
				rows = []int{n / 5, 5}
			}
			shape := func(last int) []int { return append(slices.Clone(rows), last) }
			bias := i%2 == 0
			in := []Tensor{random(1, shape(k)...), random(2, wk, wm)}
			if bias {
				in = append(in, random(3, m))
			}
			name := fmt.Sprintf("%vx%dx%d,%v,%v", rows, k, m, trans, bias)
			cases = append(cases, Case{
				Name:   name,
				Kernel: device.Linear{TransW: trans, Bias: bias},
				In:     in,
				Out:    []Tensor{empty(shape(m)...)},
				Ref: func(in [][]float64) [][]float64 {
					y := product(n, m, k, matrix(in[0], k, false), matrix(in[1], wm, trans))
					for i := range y {
						if bias {
							y[i] += in[2][i%m]
						}
					}
					return [][]float64{y}
				},
			}, Case{
				Name:   name,
				Kernel: device.LinearWeightGrad{TransW: trans},
				In:     []Tensor{random(4, shape(k)...), random(5, shape(m)...)},
				Out:    []Tensor{empty(wk, wm)},
				Ref: func(in [][]float64) [][]float64 {
					if trans {
						return [][]float64{product(m, k, n, matrix(in[1], m, true), matrix(in[0], k, false))}
					}
					return [][]float64{product(k, m, n, matrix(in[0], k, true), matrix(in[1], m, false))}
				},
			})
		}
	}
	return append(cases, Case{
		Name:   "many rows of one sign",
		Kernel: device.LinearWeightGrad{},
		In:     []Tensor{positive(6, 20000, 2), positive(7, 20000, 3)},
		Out:    []Tensor{empty(2, 3)},
		Ref: func(in [][]float64) [][]float64 {
			return [][]float64{product(2, 3, 20000, matrix(in[0], 2, true), matrix(in[1], 3, false))}
		},
	})
}

// positive returns values whose sums do not cancel.
func positive(seed uint64, shape ...int) Tensor {
	x := random(seed, shape...)
	for i, v := range x.Data {
		x.Data[i] = math.Abs(v) + 0.1
	}
	return x
}

// activationForms are the functions and their derivatives, from their definitions.
var activationForms = map[device.ActivationKind]struct{ f, df func(x float64) float64 }{
	device.ReLU: {
		func(x float64) float64 { return math.Max(x, 0) },
		func(x float64) float64 {
			if x > 0 {
				return 1
			}
			return 0
		},
	},
	device.GELUTanh: {
		func(x float64) float64 { return x / 2 * (1 + math.Tanh(geluInner(x))) },
		func(x float64) float64 {
			t := math.Tanh(geluInner(x))
			return (1+t)/2 + x/2*(1-t*t)*math.Sqrt(2/math.Pi)*(1+3*0.044715*x*x)
		},
	},
	device.GELUExact: {
		func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) },
		func(x float64) float64 {
			return (1+math.Erf(x/math.Sqrt2))/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
		},
	},
}

func geluInner(x float64) float64 { return math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }

func activationCases() []Case {
	var cases []Case
	for kind, form := range activationForms {
		for _, n := range []int{1, 7, 8191, 8193, 20000} {
			x := random(uint64(n), n)
			for i, v := range []float64{0, 1e-30, -1e-30, 40, -40, 300, -300} {
				x.Data[(i*5)%n] = v
			}
			name := fmt.Sprintf("kind %d,%d", kind, n)
			cases = append(cases, Case{
				Name: name, Kernel: device.Activation{Kind: kind},
				In: []Tensor{x}, Out: []Tensor{empty(n)},
				Ref: func(in [][]float64) [][]float64 { return [][]float64{apply(form.f, in[0])} },
			}, Case{
				Name: name, Kernel: device.ActivationGrad{Kind: kind},
				In: []Tensor{random(3, n), x}, Out: []Tensor{empty(n)},
				Ref: func(in [][]float64) [][]float64 {
					dx := apply(form.df, in[1])
					for i, dy := range in[0] {
						dx[i] *= dy
					}
					return [][]float64{dx}
				},
			})
		}
	}
	return append(cases, activationExtremes()...)
}

// activationExtremes are the limits of the functions far from 0, where their formulas meet 0*Inf: value and
// slope are 0 on the left, x and 1 on the right.
func activationExtremes() []Case {
	inf, nan := math.Inf(1), math.NaN()
	x := of(0, []int{10}, -inf, -1e38, -1e30, -1e20, -60, 60, 1e20, 1e30, 1e38, inf)
	var cases []Case
	for kind := range activationForms {
		name := fmt.Sprintf("kind %d, extremes", kind)
		cases = append(cases, Case{
			Name: name, Kernel: device.Activation{Kind: kind}, Exact: true,
			In: []Tensor{x}, Out: []Tensor{empty(10)},
			Ref: func(in [][]float64) [][]float64 {
				return [][]float64{apply(func(v float64) float64 { return math.Max(v, 0) }, in[0])}
			},
		}, Case{
			Name: name, Kernel: device.ActivationGrad{Kind: kind},
			In: []Tensor{random(4, 10), x}, Out: []Tensor{empty(10)},
			Ref: func(in [][]float64) [][]float64 {
				return [][]float64{slices.Concat(make([]float64, 5), in[0][5:])}
			},
		}, Case{
			Name: name + ", NaN", Kernel: device.Activation{Kind: kind}, Exact: true,
			In: []Tensor{of(0, []int{2}, nan, 0)}, Out: []Tensor{empty(2)},
			Ref: func([][]float64) [][]float64 { return [][]float64{{nan, 0}} },
		})
	}
	return cases
}

func apply(f func(float64) float64, x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

func addCases() []Case {
	var cases []Case
	for _, s := range []struct{ a, b []int }{
		{[]int{}, []int{}}, {[]int{1}, []int{1}}, {[]int{3, 5}, []int{3, 5}}, {[]int{3, 5}, []int{5}},
		{[]int{7}, []int{}}, {[]int{2, 3, 1}, []int{1}}, {[]int{4, 61, 67}, []int{61, 67}},
		{[]int{3, 9001}, []int{9001}}, {[]int{3, 9001}, []int{3, 9001}},
	} {
		cases = append(cases, Case{
			Name: fmt.Sprint(s.a, s.b), Kernel: device.Add{},
			In:  []Tensor{random(1, s.a...), random(2, s.b...)},
			Out: []Tensor{empty(s.a...)},
			Ref: func(in [][]float64) [][]float64 {
				y := slices.Clone(in[0])
				for i := range y {
					y[i] += in[1][i%len(in[1])]
				}
				return [][]float64{y}
			},
		})
	}
	return cases
}
