package cpu

import (
	"cmp"

	"tinylm/internal/device"
)

func prepareFill[F float](d *Device, k device.Fill, out, in []device.Buffer) (device.Launch, error) {
	inputs := 2
	if k.Causal {
		inputs = 1
	}
	if err := checkCount(k, out, in, 1, inputs); err != nil {
		return nil, err
	}
	x, y := in[0], out[0] // (S...)
	if err := cmp.Or(checkFloat[F](k, x, y), checkShape(k, "y", y, x.Shape...)); err != nil {
		return nil, err
	}
	if k.Causal {
		return prepareFillCausal(d, k, device.Slice[F](y), device.Slice[F](x), x.Shape)
	}
	mask := in[1]
	at, err := newBroadcast(k, mask.Shape, x.Shape)
	if err != nil {
		return nil, err
	}
	ys, xs := device.Slice[F](y), device.Slice[F](x)
	if mask.DType == device.Bool {
		return fillRows(d, ys, xs, at, F(k.Value), device.Slice[bool](mask)), nil
	}
	if err := checkFloat[F](k, mask); err != nil {
		return nil, err
	}
	return fillRows(d, ys, xs, at, F(k.Value), device.Slice[F](mask)), nil
}

// fillRows writes value where the mask differs from its zero value.
func fillRows[F float, M comparable](d *Device, y, x []F, at *broadcast, value F, mask []M) device.Launch {
	rows := rowsPerChunk(at.cols)
	var shown M
	return d.parallel(chunksOf(at.rows, rows), func(chunk, _ int) {
		from, to := chunkRange(chunk, rows, at.rows)
		for r := from; r < to; r++ {
			x, y, m := x[r*at.cols:(r+1)*at.cols], y[r*at.cols:(r+1)*at.cols], mask[at.row(r):]
			for i, v := range x {
				if m[i*at.step] != shown {
					v = value
				}
				y[i] = v
			}
		}
	})
}

func prepareFillCausal[F float](d *Device, k device.Fill, y, x []F, shape []int) (device.Launch, error) {
	if len(shape) < 2 {
		return nil, errShapes(k, "want at least two axes", device.Of(x, shape...))
	}
	n, m := shape[len(shape)-2], shape[len(shape)-1] // rows and columns of a matrix
	all := product(shape[:len(shape)-1])
	rows := rowsPerChunk(m)
	return d.parallel(chunksOf(all, rows), func(chunk, _ int) {
		from, to := chunkRange(chunk, rows, all)
		for r := from; r < to; r++ {
			seen := min(m, r%n+1)
			copy(y[r*m:r*m+seen], x[r*m:r*m+seen])
			for i := r*m + seen; i < (r+1)*m; i++ {
				y[i] = F(k.Value)
			}
		}
	}), nil
}

// broadcast finds, for rows of a large tensor, the elements of a small one that is repeated over it.
type broadcast struct {
	rows, cols int   // of the large tensor, all leading axes together
	dims       []int // leading axes of the large tensor
	steps      []int // of the small one along each; 0 where it is repeated
	step       int   // along the last axis: 0 or 1
}

// newBroadcast reports an error unless small's axes, aligned at the last, are large's or 1.
func newBroadcast(k device.Kernel, small, large []int) (*broadcast, error) {
	b := &broadcast{rows: 1, cols: 1, steps: make([]int, len(large))}
	missing := len(large) - len(small)
	for i, step := len(small)-1, 1; i >= 0; i-- {
		if missing < 0 || small[i] != large[missing+i] && small[i] != 1 {
			return nil, errShapes(k, "the mask's axes, aligned at the last, must be x's or 1",
				device.Buffer{Spec: device.Spec{Shape: large}}, device.Buffer{Spec: device.Spec{Shape: small}})
		}
		if small[i] > 1 {
			b.steps[missing+i] = step
		}
		step *= small[i]
	}
	if n := len(large) - 1; n >= 0 {
		b.cols, b.step = large[n], b.steps[n]
		b.dims, b.steps = large[:n], b.steps[:n]
		b.rows = product(b.dims)
	}
	return b, nil
}

// row returns the index of the small tensor's first element that belongs to a row of the large one.
func (b *broadcast) row(r int) int {
	at := 0
	for i := len(b.dims) - 1; i >= 0; i-- {
		at += r % b.dims[i] * b.steps[i]
		r /= b.dims[i]
	}
	return at
}
