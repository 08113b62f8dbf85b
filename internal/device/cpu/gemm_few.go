package cpu

import (
	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// fewRows is how many rows of A are multiplied without packing B: so few that reading B takes the time, once
// from front to back, whatever is done with it.
const fewRows = 8

// fewGemm is a product with few rows of A, each contiguous.
type fewGemm struct {
	gemm[float32]
	simd.Products
	device  *Device
	columns int // of a chunk
}

// launchFew returns the Launch that computes the product g, columns of C at a time.
func launchFew(d *Device, g *gemm[float32], kernels simd.Products) device.Launch {
	f := &fewGemm{gemm: *g, Products: kernels, device: d}
	if f.b.row == 1 {
		f.columns = max(128, roundUp(chunksOf(f.n, vectorGoal), 16))
	} else {
		f.columns = roundUp(rowsPerChunk(f.m*f.k/16), fewAtOnce)
	}
	body := f.add
	if f.b.row != 1 {
		body = f.dot
	}
	if f.inputA != nil {
		d.reserveShared(4 * f.m * f.k)
	}
	return func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if f.inputA != nil {
			x := sharedOf[float32](d)[:f.m*f.k]
			f.inputA(x, g.a.data[:len(x)])
			f.a.data = x
		}
		d.pool.run(chunksOf(f.n, f.columns), body)
		return nil
	}
}

// fewAtOnce rows of B are kept in the cache while each row of A meets them.
const fewAtOnce = 8

// dot computes a chunk where columns of B are contiguous: every element of C is a product of two vectors.
func (f *fewGemm) dot(chunk, _ int) {
	from, to := chunkRange(chunk, f.columns, f.n)
	for j := from; j < to; j += fewAtOnce {
		n := min(fewAtOnce, to-j)
		for i := range f.m {
			f.DotRows(n, f.k, &f.a.data[i*f.k], &f.b.data[j*f.k], 4*f.k, &f.c[i*f.n+j])
		}
	}
	for i := range f.m {
		y := f.c[i*f.n+from : i*f.n+to]
		if f.start != nil {
			addTo(y, f.start[i*f.n+from:])
		}
		if f.bias != nil {
			addTo(y, f.bias[from:])
		}
		f.finish(y, i, from)
	}
}

func addTo(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] += v
	}
}

// add computes a chunk where rows of B are contiguous: they are added up, each times an element of A.
func (f *fewGemm) add(chunk, _ int) {
	from, to := chunkRange(chunk, f.columns, f.n)
	for i := range f.m {
		f.begin(f.c[i*f.n+from:i*f.n+to], i, from)
	}
	for k := 0; k < f.k; k += fewAtOnce {
		n := min(fewAtOnce, f.k-k)
		for i := range f.m {
			f.AddRows(n, to-from, &f.a.data[i*f.k+k], &f.b.data[k*f.n+from], 4*f.n, &f.c[i*f.n+from])
		}
	}
	for i := range f.m {
		f.finish(f.c[i*f.n+from:i*f.n+to], i, from)
	}
}
