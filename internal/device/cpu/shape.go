package cpu

import (
	"fmt"
	"slices"

	"tinylm/internal/device"
)

// gather returns a Launch that fills y with the elements of x seen through v.
func gather[F float](d *Device, y, x []F, v view) device.Launch {
	outer, n, stride := v.cut()
	rows := outer.len()
	size := rowsPerChunk(n)
	return d.parallel(chunksOf(rows, size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, rows)
		for r := from; r < to; r++ {
			row, at := y[r*n:][:n], outer.offset(r)
			switch stride {
			case 0:
				fill(row, x[at])
			case 1:
				copy(row, x[at:])
			default:
				for i := range row {
					row[i] = x[at+i*stride]
				}
			}
		}
	})
}

func fill[F float](y []F, x F) {
	for i := range y {
		y[i] = x
	}
}

func prepareTranspose[F float](d *Device, k device.Transpose, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	x, y := in[0], out[0]
	if err := checkFloat[F](k, x, y); err != nil {
		return nil, err
	}
	axes := slices.Sorted(slices.Values(k.Perm))
	if len(axes) != len(x.Shape) || len(y.Shape) != len(x.Shape) {
		return nil, errShapes(k, fmt.Sprintf("do not have the %d axes of the permutation", len(axes)), x, y)
	}
	for i, a := range axes {
		if a != i {
			return nil, fmt.Errorf("cpu: %s: %v is no permutation of %d axes", k.Name(), k.Perm, len(axes))
		}
	}
	var v view
	strides := rowMajorStrides(x.Shape)
	for i, a := range k.Perm {
		if y.Shape[i] != x.Shape[a] {
			return nil, errShapes(k, fmt.Sprintf("the second is not the first permuted by %v", k.Perm), x, y)
		}
		v.add(x.Shape[a], strides[a])
	}
	return gather(d, device.Slice[F](y), device.Slice[F](x), v), nil
}

func prepareExpand[F float](d *Device, k device.Expand, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	x, y := in[0], out[0]
	if err := checkFloat[F](k, x, y); err != nil {
		return nil, err
	}
	if !repeats(x.Shape, y.Shape) {
		return nil, errShapes(k, "each axis must be of equal length or 1 in the input", x, y)
	}
	return gather(d, device.Slice[F](y), device.Slice[F](x), repeated(x.Shape, y.Shape)), nil
}

func prepareSliceLast[F float](d *Device, k device.SliceLast, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	if err := checkColumns[F](k, k.From, k.To, in[0], out[0]); err != nil {
		return nil, err
	}
	x, y := device.Slice[F](in[0]), device.Slice[F](out[0])
	rows, c := splitLast(in[0].Shape)
	n := k.To - k.From
	size := rowsPerChunk(n)
	return d.parallel(chunksOf(rows, size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, rows)
		for r := from; r < to; r++ {
			copy(y[r*n:][:n], x[r*c+k.From:])
		}
	}), nil
}

func preparePadLast[F float](d *Device, k device.PadLast, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	if err := checkColumns[F](k, k.From, k.To, out[0], in[0]); err != nil {
		return nil, err
	}
	dy, dx := device.Slice[F](in[0]), device.Slice[F](out[0])
	rows, c := splitLast(out[0].Shape)
	n := k.To - k.From
	size := rowsPerChunk(c)
	return d.parallel(chunksOf(rows, size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, rows)
		for r := from; r < to; r++ {
			row := dx[r*c:][:c]
			clear(row[:k.From])
			copy(row[k.From:k.To], dy[r*n:])
			clear(row[k.To:])
		}
	}), nil
}

// checkColumns reports when narrow is not the columns from..to-1 of wide.
func checkColumns[F float](k device.Kernel, from, to int, wide, narrow device.Buffer) error {
	if err := checkFloat[F](k, wide, narrow); err != nil {
		return err
	}
	if len(wide.Shape) == 0 {
		return errShapes(k, "a scalar has no columns", wide, narrow)
	}
	if _, c := splitLast(wide.Shape); from < 0 || from > to || to > c {
		return errShapes(k, fmt.Sprintf("the first has no columns %d to %d", from, to-1), wide, narrow)
	}
	return checkShape(k, "the part", narrow, withLast(wide.Shape, to-from)...)
}
