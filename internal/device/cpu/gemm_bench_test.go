package cpu

import (
	"fmt"
	"testing"

	"tinylm/internal/device"
)

// benchLaunch measures a kernel that does flops floating-point operations.
func benchLaunch(b *testing.B, flops int, k device.Kernel, out, in []device.Buffer) {
	b.Helper()
	run, err := Default().Prepare(k, out, in)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(flops)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
}

// filled returns a buffer of the device's memory with values that are neither 0 nor denormal.
func filled[F float](shape ...int) device.Buffer {
	b := device.Buffer{Spec: device.Spec{DType: device.TypeOf[F](), Shape: shape}}
	b.Ptr = aligned(b.Bytes())
	data := device.Slice[F](b)
	for i := range data {
		data[i] = F(i%13)*0.25 - 1.4
	}
	return b
}

// linears are the layers (rows, inputs, outputs) of models of three sizes.
var linears = [][3]int{
	{768, 128, 384}, {768, 128, 128}, {768, 128, 512}, {768, 512, 128}, {768, 128, 65},
	{4096, 384, 1152}, {4096, 384, 384}, {4096, 384, 1536}, {4096, 1536, 384}, {4096, 384, 65},
	{1024, 768, 2304}, {1024, 768, 3072}, {1024, 3072, 768},
}

// BenchmarkLinear32 measures a layer y = x·w, and its gradients dx = dy·wᵀ and dw = xᵀ·dy.
func BenchmarkLinear32(b *testing.B) {
	for _, s := range linears {
		benchLinear[float32](b, s, false)
	}
	b.Run("head", func(b *testing.B) { benchLinear[float32](b, [3]int{1024, 768, 50257}, true) })
}

// benchLinear also has the layer's w stored as (outputs, inputs), as in an output layer.
func benchLinear[F float](b *testing.B, s [3]int, trans bool) {
	n, k, m := s[0], s[1], s[2]
	x, w, y := filled[F](n, k), filled[F](k, m), filled[F](n, m)
	if trans {
		w = filled[F](m, k)
	}
	list := func(b ...device.Buffer) []device.Buffer { return b }
	b.Run(fmt.Sprintf("%dx%dx%d/y", n, k, m), func(b *testing.B) {
		benchLaunch(b, 2*n*k*m, device.Linear{TransW: trans}, list(y), list(x, w))
	})
	b.Run(fmt.Sprintf("%dx%dx%d/dx", n, k, m), func(b *testing.B) {
		benchLaunch(b, 2*n*k*m, device.Linear{TransW: !trans}, list(x), list(y, w))
	})
	b.Run(fmt.Sprintf("%dx%dx%d/dw", n, k, m), func(b *testing.B) {
		benchLaunch(b, 2*n*k*m, device.LinearWeightGrad{TransW: trans}, list(w), list(x, y))
	})
}

func BenchmarkLinear64(b *testing.B) {
	for _, s := range linears[:5] {
		benchLinear[float64](b, s, false)
	}
}
