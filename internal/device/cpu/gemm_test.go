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

// filled returns a buffer of values that are neither 0 nor denormal.
func filled[F float](shape ...int) device.Buffer {
	data := make([]F, product(shape))
	for i := range data {
		data[i] = F(i%13)*0.25 - 1.4
	}
	return device.Of(data, shape...)
}

func benchmarkLinear[F float](b *testing.B) {
	for _, s := range [][3]int{{768, 128, 384}, {768, 128, 128}, {768, 128, 512}, {768, 512, 128}, {768, 128, 65}, {1, 128, 512}} {
		n, k, m := s[0], s[1], s[2]
		x, w, y, wt := filled[F](n, k), filled[F](k, m), filled[F](n, m), filled[F](m, k)
		for _, trans := range []bool{false, true} {
			w := w
			if trans {
				w = wt
			}
			b.Run(fmt.Sprintf("%dx%dx%d/trans=%v", n, k, m, trans), func(b *testing.B) {
				benchLaunch(b, 2*n*k*m, device.Linear{TransW: trans}, []device.Buffer{y}, []device.Buffer{x, w})
			})
			b.Run(fmt.Sprintf("%dx%dx%d/wgrad,trans=%v", n, k, m, trans), func(b *testing.B) {
				benchLaunch(b, 2*n*k*m, device.LinearWeightGrad{TransW: trans}, []device.Buffer{w}, []device.Buffer{x, y})
			})
		}
	}
}

func BenchmarkLinear32(b *testing.B) { benchmarkLinear[float32](b) }
func BenchmarkLinear64(b *testing.B) { benchmarkLinear[float64](b) }
