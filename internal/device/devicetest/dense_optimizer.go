package devicetest

import (
	"fmt"
	"math"
	"slices"

	"tinylm/internal/device"
)

// optimizerCases are single updates of AdamW, written out as in the paper.
func optimizerCases() []Case {
	var cases []Case
	for _, n := range []int{1, 5, 64, 8193, 17000} {
		for _, update := range []float64{1, 2, 1000} {
			const rate, decay, scale = 1e-2, 0.1, 0.3
			k := device.AdamW{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8}
			cases = append(cases, Case{
				Name: fmt.Sprintf("%d,update %v", n, update), Kernel: k, Shared: 3,
				In: []Tensor{random(1, n), random(2, n), positive(3, n), random(4, n),
					of(device.Float64, []int{4}, rate, decay, scale, update)},
				Out: []Tensor{empty(n), empty(n), empty(n)},
				Ref: func(in [][]float64) [][]float64 {
					w, m, v := slices.Clone(in[0]), slices.Clone(in[1]), slices.Clone(in[2])
					for i, g := range in[3] {
						g *= scale
						m[i] = k.Beta1*m[i] + (1-k.Beta1)*g
						v[i] = k.Beta2*v[i] + (1-k.Beta2)*g*g
						mHat := m[i] / (1 - math.Pow(k.Beta1, update))
						vHat := v[i] / (1 - math.Pow(k.Beta2, update))
						w[i] -= rate*mHat/(math.Sqrt(vHat)+k.Eps) + rate*decay*w[i]
					}
					return [][]float64{w, m, v}
				},
			})
		}
	}
	return cases
}

// denseErrors are shapes and types that Prepare must refuse, with both shapes in the message.
func denseErrors() []Case {
	ids := func(shape ...int) Tensor { return Tensor{DType: device.Int32, Shape: shape} }
	list := func(t ...Tensor) []Tensor { return t }
	var cases []Case
	for _, c := range []struct {
		kernel  device.Kernel
		in, out []Tensor
		err     string
	}{
		{device.MatMul{}, list(empty(2, 3), empty(4, 5)), list(empty(2, 5)), "[2 3] and [4 5]"},
		{device.MatMul{}, list(empty(2, 3), empty(3, 5)), list(empty(5, 2)), "[5 2], want [2 5]"},
		{device.MatMul{}, list(empty(2, 2, 3), empty(3, 3, 5)), list(empty(2, 2, 5)), "[2 2 3] and [3 3 5]"},
		{device.MatMul{TransB: true}, list(empty(2, 3), empty(3, 5)), list(empty(2, 5)), "[2 3] and [3 5]"},
		{device.MatMul{}, list(empty(2)), list(empty(2)), "2 inputs and 1 outputs, got 1 and 1"},
		{device.Linear{}, list(empty(2, 3), empty(5, 3)), list(empty(2, 5)), "[2 3] and [5 3]"},
		{device.Linear{TransW: true}, list(empty(2, 3), empty(3, 5)), list(empty(2, 5)), "[2 3] and [3 5]"},
		{device.Linear{}, list(empty(2, 3), empty(3, 5)), list(empty(2, 3)), "[2 3], want [2 5]"},
		{device.Linear{Bias: true}, list(empty(2, 3), empty(3, 5), empty(3)), list(empty(2, 5)), "[3], want [5]"},
		{device.Linear{}, list(empty(2, 3), ids(3, 5)), list(empty(2, 5)), "int32[3 5]"},
		{device.LinearWeightGrad{}, list(empty(2, 3), empty(3, 5)), list(empty(3, 5)), "[2 3] and [3 5]"},
		{device.LinearWeightGrad{}, list(empty(2, 3), empty(2, 5)), list(empty(5, 3)), "[5 3], want [3 5]"},
		{device.SumLeading{}, list(empty(2, 3)), list(empty(2)), "[2 3] and [2]"},
		{device.Activation{Kind: device.ReLU}, list(empty(2, 3)), list(empty(3, 2)), "[3 2], want [2 3]"},
		{device.Activation{}, list(empty(2)), list(empty(2)), "no activation function 0"},
		{device.ActivationGrad{Kind: device.ReLU}, list(empty(2), empty(3)), list(empty(3)), "[2], want [3]"},
		{device.Add{}, list(empty(2, 3), empty(2)), list(empty(2, 3)), "[2 3] and [2]"},
		{device.Add{}, list(empty(2, 3), empty(3)), list(empty(3)), "[3], want [2 3]"},
		{device.Copy{}, list(empty(2, 3)), list(empty(5)), "[2 3] and [5]"},
		{device.Copy{}, list(empty(2, 3)), list(ids(6)), "int32[6]"},
		{device.Transpose{Perm: []int{1, 1}}, list(empty(2, 2)), list(empty(2, 2)), "[1 1] is no permutation"},
		{device.Transpose{Perm: []int{1, 0}}, list(empty(2, 3)), list(empty(2, 3)), "[2 3] and [2 3]"},
		{device.SliceLast{From: 1, To: 4}, list(empty(2, 3)), list(empty(2, 3)), "no columns 1 to 3"},
		{device.SliceLast{From: 1, To: 3}, list(empty(2, 3)), list(empty(2, 3)), "[2 3], want [2 2]"},
		{device.PadLast{From: 1, To: 3}, list(empty(2, 3)), list(empty(2, 3)), "[2 3], want [2 2]"},
		{device.Expand{}, list(empty(2, 3)), list(empty(4, 3)), "[2 3] and [4 3]"},
		{device.Reduce{}, list(empty(2, 3)), list(empty(3)), "[2 3] and [3]"},
		{device.RowMax{}, list(empty(2, 0)), list(empty(2, 1)), "[2 0]"},
		{device.RowMax{}, list(empty(2, 3)), list(empty(2)), "[2], want [2 1]"},
		{device.OneHot{}, list(ids(2)), list(empty(3, 5)), "[2] and [3 5]"},
		{device.OneHot{}, list(empty(2)), list(empty(2, 5)), "want a buffer of int32 or int64"},
		{device.LayerNormGrad{Add: true}, list(empty(3, 2), empty(2, 3), empty(3), empty(2), empty(2), empty(2, 3)),
			list(empty(2, 3), empty(3), empty(3)), "base has shape [3 2], want [2 3]"},
		{device.LayerNormGrad{Add: true}, list(empty(2, 3), empty(3), empty(2), empty(2), empty(2, 3)),
			list(empty(2, 3), empty(3), empty(3)), "6 inputs and 3 outputs, got 5 and 3"},
		{device.EmbeddingGrad{Add: true}, list(empty(4, 3), ids(2), empty(2, 3)), list(empty(5, 3)), "base has shape [4 3], want [5 3]"},
		{device.SumSquares{}, list(empty(2)), list(of(device.Float64, []int{1})), "[1], want []"},
	} {
		c := Case{Name: fmt.Sprintf("error %d", len(cases)), Kernel: c.kernel, In: c.in, Out: c.out, PrepareErr: c.err}
		cases = append(cases, c)
	}
	return cases
}
