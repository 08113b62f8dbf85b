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
	return slices.Concat(matMulCases(), linearCases(), weightGradCases(), activationCases(), addCases(), sumCases(),
		shapeCases(), optimizerCases(), denseErrors(), productErrors())
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
		for _, n := range []int{1, 7, 15, 16, 17, 31, 33, 63, 65, 8191, 8193, 20000} {
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
