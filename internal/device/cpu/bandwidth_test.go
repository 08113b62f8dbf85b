package cpu

import (
	"fmt"
	"testing"

	"tinylm/internal/device"
)

// BenchmarkBandwidth runs the kernels that memory bounds, beside a plain copy. The rate is of the bytes that
// must move: each input read once, each output written once.
func BenchmarkBandwidth(b *testing.B) {
	const m = 4096 // rows of a model of width 384
	f := filled[float32]
	ids := func(n, v int) device.Buffer {
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(i * i % v)
		}
		return device.Of(x)
	}
	norm := device.LayerNorm{Eps: 1e-5}
	// bench runs k; untouched bytes of its buffers are not to move.
	bench := func(name string, k device.Kernel, untouched int, out []device.Buffer, in ...device.Buffer) {
		bytes := -untouched
		for _, x := range append(out[:len(out):len(out)], in...) {
			bytes += x.Bytes()
		}
		b.Run(fmt.Sprint(name, in[0].Shape), func(b *testing.B) {
			b.SetBytes(int64(bytes))
			benchLaunch(b, 0, k, out, in)
		})
	}
	type list = []device.Buffer
	for _, n := range []int{1 << 16, 1 << 20, 1 << 24} {
		bench("copy", device.Copy{}, 0, list{f(n)}, f(n))
		bench("add", device.Add{}, 0, list{f(n)}, f(n), f(n))
		bench("sumsquares", device.SumSquares{}, 0, list{device.Of(make([]float64, 1), []int{}...)}, f(n))
		w, m, v, g := f(n), f(n), device.Of(make([]float32, n)), f(n)
		bench("adamw", device.AdamW{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8}, 0, list{w, m, v}, w, m, v, g, device.Of([]float64{1e-3, 0.1, 1, 1}))
	}
	for _, s := range [][2]int{{768, 128}, {768, 512}, {m, 384}, {m, 1536}} {
		n, c := s[0], s[1]
		x, y, row, rows := f(n, c), f(n, c), f(c), f(n)
		bench("sumleading", device.SumLeading{}, 0, list{row}, x)
		bench("layernorm", norm, 0, list{y, rows, rows}, x, row, row)
		bench("layernorm.grad", device.LayerNormGrad{Eps: 1e-5}, 0, list{y, f(c), f(c)}, x, row, rows, rows, f(n, c))
		bench("layernorm.grad added", device.LayerNormGrad{Eps: 1e-5, Add: true}, 0, list{y, f(c), f(c)}, y, x, row, rows, rows, f(n, c))
		bench("add", device.Add{}, 0, list{y}, x, row)
	}
	for _, s := range [][3]int{{65, 128, 768}, {65, 384, m}, {50257, 768, 1024}} {
		v, c, n := s[0], s[1], s[2]
		table, dy := f(v, c), f(n, c)
		bench("embedding", device.Embedding{}, table.Bytes()-min(v, n)*c*4, list{dy}, table, ids(n, v))
		bench("embedding.grad", device.EmbeddingGrad{}, 0, list{table}, ids(n, v), dy)
		bench("embedding.grad added", device.EmbeddingGrad{Add: true}, 2*(table.Bytes()-min(v, n)*c*4), list{table}, table, ids(n, v), dy)
	}
}
