package cpu

import (
	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// fewRows is how many rows of A are multiplied with columns of B that are contiguous in memory as they lie
// there: so few that turning them into rows would take longer than all the rest.
const fewRows = 8

// dotGemm is a product of few rows of A with contiguous columns of B: each element of C is a product of two
// vectors, and B is read once, from front to back.
type dotGemm struct {
	gemm[float32]
	simd.Products
	device  *Device
	add     func(y, a, b []float32)
	columns int // of a chunk
}

// dotsAtOnce columns of B stay in the cache while each row of A meets them.
const dotsAtOnce = 8

func newDotGemm(d *Device, g *gemm[float32], kernels simd.Products) *dotGemm {
	return &dotGemm{*g, kernels, d, adding[float32](d), roundUp(rowsPerChunk(g.m*g.k/16), dotsAtOnce)}
}

// launch returns the Launch that computes the product.
func (g *dotGemm) launch() device.Launch {
	x := g.a.data
	if g.inputA != nil {
		g.device.reserveShared(4 * len(x))
	}
	body := g.chunk
	return func() error {
		g.device.mu.Lock()
		defer g.device.mu.Unlock()
		if g.inputA != nil {
			g.a.data = sharedOf[float32](g.device)[:len(x)]
			g.inputA(g.a.data, x)
		}
		g.device.pool.run(chunksOf(g.n, g.columns), body)
		return nil
	}
}

// chunk computes some columns of C.
func (g *dotGemm) chunk(chunk, _ int) {
	from, to := chunkRange(chunk, g.columns, g.n)
	for j := from; j < to; j += dotsAtOnce {
		for i := range g.m {
			n := min(dotsAtOnce, to-j)
			g.DotRows(n, g.k, &g.a.data[i*g.k], &g.b.data[j*g.k], 4*g.k, &g.c[i*g.n+j])
		}
	}
	for i := range g.m {
		y := g.c[i*g.n+from : i*g.n+to]
		if g.start != nil {
			g.add(y, y, g.start[i*g.n+from:][:len(y)])
		}
		if g.bias != nil {
			g.add(y, y, g.bias[from:][:len(y)])
		}
		g.finish(y, i, from)
	}
}
