package devicetest

import (
	"fmt"
	"math"
	"slices"

	"tinylm/internal/device"
)

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

// sizes are M, N and K of products: nothing, single elements and rows, sizes around the edges of tiles and of
// blocks, and one that no small number divides.
var sizes = [][3]int{
	{0, 4, 3}, {4, 0, 3}, {4, 3, 0}, {1, 1, 1}, {1, 7, 3}, {5, 1, 4}, {3, 5, 1}, {2, 4, 2}, {4, 8, 16}, {17, 65, 13}, {33, 31, 66},
	{1, 65, 129}, {130, 67, 30}, {70, 132, 257}, {9, 6, 700}, {2, 63, 64}, {4, 130, 66},
}

// large are sizes with a dimension of more than one block, or of a whole page.
var large = [][3]int{
	{700, 17, 9}, {5, 790, 9}, {9, 33, 1030}, {33, 1024, 5}, {1024, 33, 5}, {5, 33, 1024}, {5, 1024, 33},
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
			for _, s := range slices.Concat(sizes, large) {
				add(nil, s[0], s[1], s[2], transA, transB)
			}
			add([]int{3}, 5, 7, 6, transA, transB)
			add([]int{2, 3}, 16, 16, 8, transA, transB)
			add([]int{40, 1}, 3, 2, 5, transA, transB)
			add([]int{2}, 9, 850, 7, transA, transB)
			add([]int{3}, 115, 5, 530, transA, transB)
		}
	}
	return cases
}

// linearForms are the attributes of Linear, each alone and together.
func linearForms() []device.Linear {
	forms := []device.Linear{
		{}, {Bias: true}, {Residual: true}, {Bias: true, Residual: true},
		{Bias: true, Residual: true, Input: device.ReLU, Slope: device.GELUTanh},
		{Bias: true, Input: device.GELUTanh}, {Residual: true, Slope: device.ReLU},
	}
	for kind := range activationForms {
		forms = append(forms, device.Linear{Input: kind}, device.Linear{Slope: kind})
	}
	return forms
}

func linearCases() []Case {
	var cases []Case
	forms := linearForms()
	for _, trans := range []bool{false, true} {
		for i, s := range sizes {
			cases = append(cases, linearCase(s, forms[0], trans), linearCase(s, forms[1+i%(len(forms)-1)], trans))
		}
		for _, s := range large {
			for _, form := range []device.Linear{{}, {Input: device.GELUTanh}, forms[4]} {
				cases = append(cases, linearCase(s, form, trans))
			}
		}
		for _, form := range forms {
			cases = append(cases, linearCase([3]int{3, 33, 70}, form, trans), linearCase([3]int{35, 66, 67}, form, trans))
		}
	}
	return cases
}

// linearCase is y (n, m) from x (n, k).
func linearCase(size [3]int, kernel device.Linear, trans bool) Case {
	n, m, k := size[0], size[1], size[2]
	kernel.TransW = trans
	rows := rowsOf(n)
	wk, wm := swapIf(trans, k, m)
	in := []Tensor{random(1, append(rows, k)...), random(2, wk, wm)}
	if kernel.Bias {
		in = append(in, random(3, m))
	}
	if kernel.Residual {
		in = append(in, random(4, append(rows, m)...))
	}
	if kernel.Slope != 0 {
		in = append(in, random(5, append(rows, m)...))
	}
	return Case{
		Name:   fmt.Sprintf("%vx%dx%d,%+v", rows, k, m, kernel),
		Kernel: kernel,
		In:     in,
		Out:    []Tensor{empty(append(rows, m)...)},
		Ref: func(in [][]float64) [][]float64 {
			x := activated(kernel.Input, in[0])
			y := product(n, m, k, matrix(x, k, false), matrix(in[1], wm, trans))
			in = in[2:]
			if kernel.Bias {
				for i := range y {
					y[i] += in[0][i%m]
				}
				in = in[1:]
			}
			if kernel.Residual {
				for i := range y {
					y[i] += in[0][i]
				}
				in = in[1:]
			}
			if kernel.Slope != 0 {
				for i := range y {
					y[i] *= activationForms[kernel.Slope].df(in[0][i])
				}
			}
			return [][]float64{y}
		},
	}
}

// rowsOf returns leading axes of n rows: one or two.
func rowsOf(n int) []int {
	if n%5 == 0 {
		return []int{n / 5, 5}
	}
	return []int{n}
}

// activated applies the function to x, if there is one.
func activated(kind device.ActivationKind, x []float64) []float64 {
	if kind == 0 {
		return x
	}
	return apply(activationForms[kind].f, x)
}

func weightGradCases() []Case {
	var cases []Case
	forms := []device.LinearWeightGrad{{}, {Add: true}}
	for kind := range activationForms {
		forms = append(forms, device.LinearWeightGrad{Input: kind}, device.LinearWeightGrad{Add: true, Input: kind})
	}
	for _, trans := range []bool{false, true} {
		for i, s := range sizes {
			cases = append(cases, weightGradCase(s, forms[0], trans), weightGradCase(s, forms[1+i%(len(forms)-1)], trans))
		}
		for _, s := range large {
			cases = append(cases, weightGradCase(s, forms[0], trans),
				weightGradCase(s, device.LinearWeightGrad{Add: true, Input: device.GELUTanh}, trans))
		}
		for _, form := range forms {
			cases = append(cases, weightGradCase([3]int{70, 33, 66}, form, trans))
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

// weightGradCase is dw of w (k, m) from x (n, k) and dy (n, m).
func weightGradCase(size [3]int, kernel device.LinearWeightGrad, trans bool) Case {
	n, m, k := size[0], size[1], size[2]
	kernel.TransW = trans
	rows := rowsOf(n)
	wk, wm := swapIf(trans, k, m)
	in := []Tensor{random(4, append(rows, k)...), random(5, append(rows, m)...)}
	if kernel.Add {
		in = append([]Tensor{random(6, wk, wm)}, in...)
	}
	return Case{
		Name:   fmt.Sprintf("%vx%dx%d,%+v", rows, k, m, kernel),
		Kernel: kernel,
		In:     in,
		Out:    []Tensor{empty(wk, wm)},
		Ref: func(in [][]float64) [][]float64 {
			base := make([]float64, wk*wm)
			if kernel.Add {
				base, in = in[0], in[1:]
			}
			x, dy := activated(kernel.Input, in[0]), in[1]
			var dw []float64
			if trans {
				dw = product(m, k, n, matrix(dy, m, true), matrix(x, k, false))
			} else {
				dw = product(k, m, n, matrix(x, k, true), matrix(dy, m, false))
			}
			for i, b := range base {
				dw[i] += b
			}
			return [][]float64{dw}
		},
	}
}

// positive returns values whose sums do not cancel.
func positive(seed uint64, shape ...int) Tensor {
	x := random(seed, shape...)
	for i, v := range x.Data {
		x.Data[i] = math.Abs(v) + 0.1
	}
	return x
}

// productErrors are attributes whose inputs Prepare must refuse.
func productErrors() []Case {
	const unknown = device.ActivationKind(99)
	x, w, y := empty(4, 3), empty(3, 5), empty(4, 5)
	var cases []Case
	for _, c := range []struct {
		kernel device.Kernel
		in     []Tensor
		out    Tensor
		err    string
	}{
		{device.Linear{Residual: true}, []Tensor{x, w}, y, "3 inputs and 1 outputs, got 2 and 1"},
		{device.Linear{Residual: true}, []Tensor{x, w, empty(5)}, y, "the residual has shape [5], want [4 5]"},
		{device.Linear{Slope: device.ReLU}, []Tensor{x, w}, y, "3 inputs and 1 outputs, got 2 and 1"},
		{device.Linear{Slope: device.ReLU}, []Tensor{x, w, x}, y, "the slope's input has shape [4 3], want [4 5]"},
		{device.Linear{Slope: unknown}, []Tensor{x, w, y}, y, "no activation function 99"},
		{device.Linear{Input: unknown}, []Tensor{x, w}, y, "no activation function 99"},
		{device.Linear{Bias: true, Residual: true, Slope: device.ReLU}, []Tensor{x, w, y, empty(5), y}, y,
			"the bias has shape [4 5], want [5]"},
		{device.LinearWeightGrad{Add: true}, []Tensor{x, y}, w, "3 inputs and 1 outputs, got 2 and 1"},
		{device.LinearWeightGrad{Add: true}, []Tensor{empty(5, 3), x, y}, w, "base has shape [5 3], want [3 5]"},
		{device.LinearWeightGrad{Input: unknown}, []Tensor{x, y}, w, "no activation function 99"},
	} {
		cases = append(cases, Case{
			Name: fmt.Sprintf("product error %d", len(cases)), Kernel: c.kernel,
			In: c.in, Out: []Tensor{c.out}, PrepareErr: c.err,
		})
	}
	return cases
}
