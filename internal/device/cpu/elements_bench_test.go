package cpu

import (
	"fmt"
	"testing"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// BenchmarkElements times kernels that work element by element or row by row, on one worker, with every set of
// vector kernels and in plain Go.
func BenchmarkElements(b *testing.B) {
	const rows, channels, classes, tokens = 512, 768, 65, 50257
	x, y := filled[float32](rows, channels), filled[float32](rows, channels)
	few, many := filled[float32](8*rows, classes), filled[float32](rows/8, tokens)
	rng := device.Of([]int64{1, 2, 3})
	type list = []device.Buffer
	loss := func(logits device.Buffer) (out, in list) {
		targets := device.Of(make([]int32, logits.Shape[0]))
		return list{logits, filled[float32](), filled[float32]()}, list{logits, targets, filled[float32]()}
	}
	fewOut, fewIn := loss(few)
	manyOut, manyIn := loss(many)
	for _, c := range []struct {
		name    string
		k       device.Kernel
		out, in list
	}{
		{"relu", device.Activation{Kind: device.ReLU}, list{y}, list{x}},
		{"relu.grad", device.ActivationGrad{Kind: device.ReLU}, list{y}, list{x, x}},
		{"gelu.tanh", device.Activation{Kind: device.GELUTanh}, list{y}, list{x}},
		{"gelu.tanh.grad", device.ActivationGrad{Kind: device.GELUTanh}, list{y}, list{x, x}},
		{"gelu.exact", device.Activation{Kind: device.GELUExact}, list{y}, list{x}},
		{"gelu.exact.grad", device.ActivationGrad{Kind: device.GELUExact}, list{y}, list{x, x}},
		{"softmax", device.Softmax{}, list{y}, list{x}},
		{"softmax.grad", device.SoftmaxGrad{}, list{y}, list{x, x}},
		{"logsoftmax", device.Softmax{Log: true}, list{y}, list{x}},
		{"logsoftmax.grad", device.SoftmaxGrad{Log: true}, list{y}, list{x, x}},
		{"crossentropy/65", device.CrossEntropy{IgnoreIndex: -1}, list{fewOut[1], fewOut[2], filled[float32](8 * rows)}, fewIn[:2]},
		{"crossentropy/50257", device.CrossEntropy{IgnoreIndex: -1}, list{manyOut[1], manyOut[2], filled[float32](rows / 8)}, manyIn[:2]},
		{"crossentropy.both/65", device.CrossEntropyBoth{IgnoreIndex: -1}, list{filled[float32](few.Shape...), fewOut[1], fewOut[2]}, fewIn},
		{"crossentropy.both/50257", device.CrossEntropyBoth{IgnoreIndex: -1}, list{filled[float32](many.Shape...), manyOut[1], manyOut[2]}, manyIn},
		{"keepmask", device.KeepMask{P: 0.2}, list{y}, list{rng}},
		{"dropout", device.Dropout{P: 0.2}, list{y}, list{x, rng}},
		{"dropout/residual", device.Dropout{P: 0.2, Residual: true}, list{y}, list{x, rng, x}},
	} {
		for _, set := range append(simd.Sets(), nil) {
			d := NewWith(1, set)
			run, err := d.Prepare(c.k, c.out, c.in)
			if err != nil {
				b.Fatal(err)
			}
			n := max(c.out[0].Len(), c.in[0].Len())
			b.Run(fmt.Sprintf("%s/%s", c.name, d.ISA()), func(b *testing.B) {
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/element")
			})
		}
	}
}
