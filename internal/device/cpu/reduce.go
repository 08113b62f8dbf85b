package cpu

import (
	"slices"

	"tinylm/internal/device"
)

func prepareSumLeading[F float](d *Device, k device.SumLeading, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	x, y := in[0], out[0]
	if err := checkFloat[F](k, x, y); err != nil {
		return nil, err
	}
	if !isSuffix(y.Shape, x.Shape) {
		return nil, errShapes(k, "the second is not the end of the first", x, y)
	}
	if set, c := vectors[F](d), y.Len(); set != nil && c >= leastColumns {
		return newColumnSums(d, set, device.Slice[F](y), device.Slice[F](x), c), nil
	}
	shape := slices.Clone(x.Shape)
	for a := range len(x.Shape) - len(y.Shape) {
		shape[a] = 1
	}
	return sumAxes(d, device.Slice[F](y), device.Slice[F](x), x.Shape, shape), nil
}

func prepareReduce[F float](d *Device, k device.Reduce, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	x, y := in[0], out[0]
	if err := checkFloat[F](k, x, y); err != nil {
		return nil, err
	}
	if !repeats(y.Shape, x.Shape) {
		return nil, errShapes(k, "each axis must be of equal length or 1 in the result", x, y)
	}
	return sumAxes(d, device.Slice[F](y), device.Slice[F](x), x.Shape, y.Shape), nil
}

// sumWidth is the number of neighbouring sums that are taken together: a cache line of float32.
const sumWidth = 16

// sumAxes returns a Launch that sums x over the axes that are 1 in shape, in float64 and in the order
// in which the terms lie in memory.
func sumAxes[F float](d *Device, y, x []F, from, shape []int) device.Launch {
	var kept, summed view
	strides := rowMajorStrides(from)
	for a, n := range from {
		if shape[a] == n {
			kept.add(n, strides[a])
		} else {
			summed.add(n, strides[a])
		}
	}
	if _, _, stride := kept.cut(); stride == 1 && len(kept.size) > 0 {
		return sumColumns(d, y, x, kept, summed)
	}
	return sumRuns(d, y, x, kept, summed)
}

// sumColumns sums where neighbours in y come from neighbours in x.
func sumColumns[F float](d *Device, y, x []F, kept, summed view) device.Launch {
	outer, n, _ := kept.cut()
	parts := chunksOf(n, sumWidth) // of one run of neighbours
	terms, pieces := summed.len(), outer.len()*parts
	size := rowsPerChunk(terms * sumWidth)
	return d.parallel(chunksOf(pieces, size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, pieces)
		for p := from; p < to; p++ {
			run, col := p/parts, p%parts*sumWidth
			out := y[run*n:][col:min(col+sumWidth, n)]
			at := outer.offset(run) + col
			var sums [sumWidth]float64
			for t := range terms {
				addWide(&sums, x[at+summed.offset(t):][:len(out)])
			}
			for i := range out {
				out[i] = F(sums[i])
			}
		}
	})
}

func addWide[F float](sums *[sumWidth]float64, x []F) {
	if len(x) == sumWidth {
		x := (*[sumWidth]F)(x)
		for i := range x {
			sums[i] += float64(x[i])
		}
		return
	}
	for i, v := range x {
		sums[i] += float64(v)
	}
}

// sumRuns sums where the terms of one element of y are runs of neighbours in x.
func sumRuns[F float](d *Device, y, x []F, kept, summed view) device.Launch {
	outer, n, _ := summed.cut()
	runs := outer.len()
	size := rowsPerChunk(runs * n)
	return d.parallel(chunksOf(len(y), size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, len(y))
		for i := from; i < to; i++ {
			in := x[kept.offset(i):]
			sum := 0.0
			for r := range runs {
				sum += sumRun(in[outer.offset(r):][:n])
			}
			y[i] = F(sum)
		}
	})
}

// sumRun adds up four interleaved parts, so that an addition need not wait for the one before.
func sumRun[F float](x []F) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		s0 += float64(x[0])
		s1 += float64(x[1])
		s2 += float64(x[2])
		s3 += float64(x[3])
	}
	for _, v := range x {
		s0 += float64(v)
	}
	return (s0 + s1) + (s2 + s3)
}

func prepareRowMax[F float](d *Device, k device.RowMax, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	if err := checkFloat[F](k, in[0], out[0]); err != nil {
		return nil, err
	}
	rows, n := splitLast(in[0].Shape)
	if len(in[0].Shape) == 0 || n == 0 {
		return nil, errShapes(k, "want at least one column", in[0])
	}
	if err := checkShape(k, "the result", out[0], withLast(in[0].Shape, 1)...); err != nil {
		return nil, err
	}
	x, y := device.Slice[F](in[0]), device.Slice[F](out[0])
	size := rowsPerChunk(n)
	return d.parallel(chunksOf(rows, size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, rows)
		for r := from; r < to; r++ {
			y[r] = slices.Max(x[r*n:][:n])
		}
	}), nil
}

func prepareSumSquares[F float](d *Device, k device.SumSquares, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	if err := checkFloat[F](k, in[0]); err != nil {
		return nil, err
	}
	if err := checkType(k, device.Float64, out[0]); err != nil {
		return nil, err
	}
	if err := checkShape(k, "the sum", out[0]); err != nil {
		return nil, err
	}
	x, y := device.Slice[F](in[0]), device.Slice[float64](out[0])
	parts := make([]float64, chunksOf(len(x), chunkLen))
	sum := sumSquares[F]
	if set := vectors[F](d); set != nil {
		sum = func(x []F) float64 { return set.SumSquares(len(x), address(x)) }
	}
	squares := d.eachChunk(len(x), func(from, to int) {
		parts[from/chunkLen] = sum(x[from:to])
	})
	return inTurn(squares, func() error {
		y[0] = sumRun(parts)
		return nil
	}), nil
}

func sumSquares[F float](x []F) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
	}
	for _, v := range x {
		a := float64(v)
		s0 += float64(a * a)
	}
	return (s0 + s1) + (s2 + s3)
}
