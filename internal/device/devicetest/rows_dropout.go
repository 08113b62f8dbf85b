package devicetest

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"tinylm/internal/device"
)

// keepRef returns the factors of dropout for n elements of a sample, by the definition in
// device.Dropout, with its own Philox4x32-10: ten rounds on a block of four words, the key raised in
// between.
func keepRef(p float64, site uint32, rng []float64, sample, n int) []float64 {
	var factors []float64
	for e := range n {
		block := [4]uint32{uint32(e / 4), uint32(int64(rng[2]) + int64(sample)), site, uint32(int64(rng[1]))}
		key := [2]uint32{uint32(int64(rng[0])), uint32(int64(rng[0]) >> 32)}
		for round := range uint32(10) {
			hi0, lo0 := bits.Mul32(0xD2511F53, block[0])
			hi1, lo1 := bits.Mul32(0xCD9E8D57, block[2])
			block = [4]uint32{
				hi1 ^ block[1] ^ (key[0] + round*0x9E3779B9), lo1,
				hi0 ^ block[3] ^ (key[1] + round*0xBB67AE85), lo0,
			}
		}
		if float64(block[e%4]) < math.Round(math.Ldexp(p, 32)) {
			factors = append(factors, 0)
		} else {
			factors = append(factors, 1/(1-p))
		}
	}
	return factors
}

func rngOf(seed, step, first int64) Tensor {
	return of(device.Int64, []int{3}, float64(seed), float64(step), float64(first))
}

func dropoutCases() []Case {
	var cases []Case
	for i, shape := range [][]int{{}, {5}, {1, 1}, {3, 7}, {2, 3, 5}, {4, 64}, {2, 1, 1027}, {3000, 1},
		{3, 15}, {3, 16}, {2, 17}, {2, 31}, {2, 33}, {5, 66}, {2, 9001}} {
		for _, p := range []float64{0, 0.1, 0.5, 0.999} {
			rng := rngOf(int64(i)<<33-7, 12+int64(i), int64(i)<<32-1)
			n := device.Spec{Shape: shape}.Len()
			size := n // of a sample
			if len(shape) > 0 {
				size /= shape[0]
			}
			mask := func(rng []float64) []float64 {
				var f []float64
				for sample := range n / size {
					f = append(f, keepRef(p, 3, rng, sample, size)...)
				}
				return f
			}
			name := fmt.Sprintf("%v,%v", shape, p)
			cases = append(cases, Case{
				Name:   name,
				Kernel: device.Dropout{P: p, Site: 3},
				In:     []Tensor{random(1, shape...), rng},
				Out:    []Tensor{empty(shape...)},
				Exact:  p == 0,
				Ref: func(in [][]float64) [][]float64 {
					y := slices.Clone(in[0])
					for i, f := range mask(in[1]) {
						y[i] *= f
					}
					return [][]float64{y}
				},
			}, Case{
				Name:   name + ",residual",
				Kernel: device.Dropout{P: p, Site: 3, Residual: true},
				In:     []Tensor{random(1, shape...), rng, random(2, shape...)},
				Out:    []Tensor{empty(shape...)},
				Ref: func(in [][]float64) [][]float64 {
					y := slices.Clone(in[2])
					for i, f := range mask(in[1]) {
						y[i] += in[0][i] * f
					}
					return [][]float64{y}
				},
			}, Case{
				Name:   name,
				Kernel: device.KeepMask{P: p, Site: 3},
				In:     []Tensor{rng},
				Out:    []Tensor{empty(shape...)},
				Exact:  p == 0,
				Ref:    func(in [][]float64) [][]float64 { return [][]float64{mask(in[0])} },
			})
		}
	}
	return cases
}

// rowErrors are inputs that the kernels of rowCases refuse.
func rowErrors() []Case {
	x, ids := empty(2, 3), func(v ...float64) Tensor { return of(device.Int32, []int{2, 2}, v...) }
	rng := rngOf(1, 2, 3)
	prepare := func(name string, k device.Kernel, want string, out, in []Tensor) Case {
		return Case{Name: "error/" + name, Kernel: k, Out: out, In: in, PrepareErr: want}
	}
	launch := func(name string, k device.Kernel, want string, out, in []Tensor) Case {
		return Case{Name: "error/" + name, Kernel: k, Out: out, In: in, LaunchErr: want}
	}
	type list = []Tensor
	return []Case{
		launch("large id", device.Embedding{}, "id 5 at position [1 0] is outside 0..4", list{empty(2, 2, 3)}, list{random(1, 5, 3), ids(0, 4, 5, 9)}),
		launch("negative id", device.EmbeddingGrad{}, "id -1 at position [0 1] is outside 0..4", list{empty(5, 3)}, list{ids(0, -1, 5, 9), random(1, 2, 2, 3)}),
		prepare("ids", device.Embedding{}, "int32 or int64", list{empty(2, 3)}, list{empty(5, 3), empty(2)}),
		prepare("table", device.Embedding{}, "[5] and [2 2]", list{empty(2, 2)}, list{empty(5), ids()}),
		prepare("rows", device.Embedding{}, "y has shape [2 2 4], want [2 2 3]", list{empty(2, 2, 4)}, list{empty(5, 3), ids()}),
		prepare("weight", device.LayerNorm{}, "weight has shape [2], want [3]", list{x, empty(2), empty(2)}, list{x, empty(2), empty(3)}),
		prepare("mean", device.LayerNormGrad{}, "mean has shape [3], want [2]", list{x, empty(3), empty(3)}, list{x, empty(3), empty(3), empty(2), x}),
		prepare("y", device.Softmax{}, "y has shape [3 2], want [2 3]", list{empty(3, 2)}, list{x}),
		prepare("dx", device.SoftmaxGrad{}, "dx has shape [3 2], want [2 3]", list{empty(3, 2)}, list{x, x}),
		prepare("targets", device.CrossEntropy{}, "[2 3] and [2 2]", list{empty(), empty(), empty(2)}, list{x, ids()}),
		prepare("loss", device.CrossEntropy{}, "loss has shape [1], want []", list{empty(1), empty(), empty(2)}, list{x, of(device.Int32, []int{2})}),
		launch("target", device.CrossEntropy{IgnoreIndex: -100}, "target 3 at position [1] is outside 0..2",
			list{empty(), empty(), empty(2)}, list{random(1, 2, 3), of(device.Int64, []int{2}, -100, 3)}),
		launch("target of the gradient", device.CrossEntropyGrad{IgnoreIndex: -100}, "target -1 at position [1] is outside 0..2",
			list{x}, list{random(1, 2, 3), of(device.Int64, []int{2}, -100, -1), random(1, 2), of(0, nil, 1), of(0, nil, 1)}),
		launch("target of both", device.CrossEntropyBoth{IgnoreIndex: -100}, "crossentropy.both: target 3 at position [0] is outside 0..2",
			list{x, empty(), empty()}, list{random(1, 2, 3), of(device.Int64, []int{2}, 3, -100), of(0, nil, 1)}),
		prepare("dlogits", device.CrossEntropyBoth{}, "dlogits has shape [3 2], want [2 3]",
			list{empty(3, 2), empty(), empty()}, list{x, of(device.Int64, []int{2}), empty()}),
		prepare("probability", device.Dropout{P: 1}, "probability 1 is outside [0, 1)", list{x}, list{x, rng}),
		prepare("negative probability", device.KeepMask{P: -0.5}, "probability -0.5 is outside [0, 1)", list{x}, list{rng}),
		prepare("no probability", device.Dropout{P: math.NaN()}, "probability NaN is outside [0, 1)", list{x}, list{x, rng}),
		prepare("probability", device.Attention{P: 1.5}, "probability 1.5 is outside [0, 1)", list{}, list{x, x, x, rng}),
		prepare("numbers", device.Dropout{P: 0.5}, "rng has shape [2], want [3]", list{x}, list{x, of(device.Int64, []int{2})}),
		prepare("residual", device.Dropout{P: 0.5, Residual: true}, "residual has shape [3 2], want [2 3]", list{x}, list{x, rng, empty(3, 2)}),
		prepare("no residual", device.Dropout{Residual: true}, "takes 3 inputs and 1 outputs, got 2 and 1", list{x}, list{x, rng}),
		prepare("mask", device.Attention{Mask: device.BoolMask}, "mask of shape [5 4] does not fit scores of shape [2 3 4 5]",
			list{empty(2, 3, 4, 6), empty(2, 3, 4, 2)}, list{empty(2, 3, 4, 6), empty(2, 3, 5, 6), empty(2, 3, 5, 6), of(device.Bool, []int{5, 4})}),
		prepare("keys", device.AttentionGrad{}, "[2 3 4 6] and [2 3 5 7]",
			list{empty(2, 3, 4, 6), empty(2, 3, 5, 7), empty(2, 3, 5, 7)},
			list{empty(2, 3, 4, 6), empty(2, 3, 5, 7), empty(2, 3, 5, 7), empty(2, 3, 4, 7), empty(2, 3, 4, 2), empty(2, 3, 4, 7)}),
		prepare("keys of another type", device.Attention{}, "got int32[2 3 5 6]",
			list{empty(2, 3, 4, 6), empty(2, 3, 4, 2)}, list{empty(2, 3, 4, 6), of(device.Int32, []int{2, 3, 5, 6}), empty(2, 3, 5, 6)}),
		prepare("heads", device.Attention{Packed: true, Heads: 4}, "[2 5 18]", list{empty(2, 5, 6), empty(2, 4, 5, 2)}, list{empty(2, 5, 18)}),
	}
}
