package devicetest

import (
	"fmt"
	"math"

	"tinylm/internal/device"
)

// fillCases are the cases of device.Fill. The reference finds the mask's element by the coordinates of
// each element, axis by axis.
func fillCases() []Case {
	var all []Case
	for i, c := range []struct{ x, mask []int }{
		{[]int{7}, []int{7}},
		{[]int{2, 3, 4, 5}, []int{4, 5}},
		{[]int{2, 3, 4, 5}, []int{2, 1, 4, 5}},
		{[]int{2, 3, 4, 5}, []int{1, 3, 1, 5}},
		{[]int{130, 1}, []int{130, 1}},
		{[]int{3, 4099}, []int{3, 1}},
		{[]int{}, []int{}},
	} {
		for _, typ := range []device.DType{device.Bool, 0} {
			mask := of(typ, c.mask, random(uint64(i), c.mask...).Data...)
			for j, v := range mask.Data {
				mask.Data[j] = 0
				if v > 0.3 {
					mask.Data[j] = 1
				}
			}
			all = append(all, Case{
				Name:   fmt.Sprintf("%v/mask%v/%v", c.x, c.mask, typ == device.Bool),
				Kernel: device.Fill{Value: -1e9},
				In:     []Tensor{random(uint64(i)+50, c.x...), mask},
				Out:    []Tensor{empty(c.x...)},
				Exact:  true,
				Ref:    maskedRef(c.x, c.mask, -1e9),
			})
		}
	}
	for _, shape := range [][]int{{4, 4}, {3, 5}, {5, 3}, {2, 3, 1, 1}, {2, 2, 67, 130}} {
		all = append(all, Case{
			Name:   fmt.Sprintf("causal%v", shape),
			Kernel: device.Fill{Value: math.Inf(-1), Causal: true},
			In:     []Tensor{random(9, shape...)},
			Out:    []Tensor{empty(shape...)},
			Exact:  true,
			Ref:    causalRef(shape, math.Inf(-1)),
		})
	}
	bad := func(name string, k device.Fill, want string, in ...Tensor) Case {
		return Case{Name: name, Kernel: k, In: in, Out: []Tensor{empty(in[0].Shape...)}, PrepareErr: want}
	}
	return append(all,
		bad("mask does not fit", device.Fill{}, "[2 3] and [2 4]", random(1, 2, 3), of(device.Bool, []int{2, 4})),
		bad("mask has more axes", device.Fill{}, "[3] and [1 3]", random(1, 3), of(device.Bool, []int{1, 3})),
		bad("mask of ids", device.Fill{}, "int32", random(1, 3), of(device.Int32, []int{3})),
		bad("no mask", device.Fill{}, "2 inputs", random(1, 3)),
		bad("causal vector", device.Fill{Causal: true}, "two axes", random(1, 3)),
	)
}

// maskedRef replaces where the mask, repeated along its axes of length 1, is not 0.
func maskedRef(shape, maskShape []int, value float64) func([][]float64) [][]float64 {
	return func(in [][]float64) [][]float64 {
		y := append([]float64{}, in[0]...)
		for i := range y {
			at, step, rest := 0, 1, i
			for a := len(shape) - 1; a >= 0; a-- {
				pos := rest % shape[a]
				rest /= shape[a]
				if m := a - (len(shape) - len(maskShape)); m >= 0 {
					if maskShape[m] > 1 {
						at += pos * step
					}
					step *= maskShape[m]
				}
			}
			if in[1][at] != 0 {
				y[i] = value
			}
		}
		return [][]float64{y}
	}
}

// causalRef replaces where the column is beyond the row.
func causalRef(shape []int, value float64) func([][]float64) [][]float64 {
	n, m := shape[len(shape)-2], shape[len(shape)-1]
	return func(in [][]float64) [][]float64 {
		y := append([]float64{}, in[0]...)
		for i := range y {
			if i%m > i/m%n {
				y[i] = value
			}
		}
		return [][]float64{y}
	}
}
