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
	missing := len(x.Shape) - len(mask.Shape)
	if missing < 0 || !repeats(mask.Shape, x.Shape[missing:]) {
		return nil, errShapes(k, "the mask's axes, aligned at the last, must be x's or 1", x, mask)
	}
	at := repeated(mask.Shape, x.Shape)
	ys, xs := device.Slice[F](y), device.Slice[F](x)
	if mask.DType == device.Bool {
		return fillWhere(d, ys, xs, at, F(k.Value), device.Slice[bool](mask)), nil
	}
	if err := checkFloat[F](k, mask); err != nil {
		return nil, err
	}
	return fillWhere(d, ys, xs, at, F(k.Value), device.Slice[F](mask)), nil
}

// fillWhere writes value where the mask, seen through at, differs from its zero value.
func fillWhere[F float, M comparable](d *Device, y, x []F, at view, value F, mask []M) device.Launch {
	outer, n, step := at.cut()
	var shown M
	return d.eachChunk(len(x), func(from, to int) {
		for from < to {
			row, col := from/n, from%n
			end := min(to, from+n-col) // of the row or the chunk
			x, y, m := x[from:end], y[from:end], mask[outer.offset(row)+col*step:]
			for i, v := range x {
				if m[i*step] != shown {
					v = value
				}
				y[i] = v
			}
			from = end
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
