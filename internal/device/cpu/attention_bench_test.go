package cpu

import (
	"fmt"
	"testing"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// BenchmarkAttention runs one layer's causal attention, packed, on one worker and on all, for each set of kernels.
// The operations counted are those of the two products of the forward pass and the five of the gradient that the
// mask leaves: half of all.
func BenchmarkAttention(b *testing.B) {
	for _, s := range []struct {
		name       string
		n, h, t, d int
	}{
		{"S", 12, 4, 64, 32}, {"M", 16, 6, 256, 64}, {"L", 2, 12, 512, 64}, {"T=4096", 1, 6, 4096, 64},
	} {
		for _, set := range append(simd.Sets(), nil) {
			for _, workers := range []int{1, 0} {
				d := NewWith(workers, set)
				b.Run(fmt.Sprintf("%s/%s/workers=%d", s.name, d.ISA(), d.Workers()), func(b *testing.B) {
					benchAttention(b, d, s.n, s.h, s.t, s.d)
				})
			}
		}
	}
}

func benchAttention(b *testing.B, dev *Device, n, h, t, d int) {
	c := h * d
	qkv, y, stats := filled[float32](n, t, 3*c), filled[float32](n, t, c), filled[float32](n, h, t, 2)
	dy, dqkv := filled[float32](n, t, c), filled[float32](n, t, 3*c)
	k := device.Attention{Packed: true, Heads: h, Causal: true}
	product := n * h * t * t * d // operations
	b.Run("forward", func(b *testing.B) {
		benchOn(b, dev, 2*product, k, []device.Buffer{y, stats}, []device.Buffer{qkv})
	})
	b.Run("gradient", func(b *testing.B) {
		benchOn(b, dev, 5*product, device.AttentionGrad(k), []device.Buffer{dqkv}, []device.Buffer{qkv, y, stats, dy})
	})
}

// benchOn is benchLaunch on a device.
func benchOn(b *testing.B, d *Device, flops int, k device.Kernel, out, in []device.Buffer) {
	b.Helper()
	run, err := d.Prepare(k, out, in)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(flops)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
}
