package cpu

import (
	"slices"
	"unsafe"

	"tinylm/internal/device"
)

// eachChunk returns a Launch that covers n elements in chunks of whole vectors; body must do the
// elements from..to-1.
func (d *Device) eachChunk(n int, body func(from, to int)) device.Launch {
	return d.parallel(chunksOf(n, chunkLen), func(chunk, _ int) {
		body(chunkRange(chunk, chunkLen, n))
	})
}

func prepareAdd[F float](d *Device, k device.Add, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	if err := checkFloat[F](k, in[0], in[1], out[0]); err != nil {
		return nil, err
	}
	if !isSuffix(in[1].Shape, in[0].Shape) {
		return nil, errShapes(k, "the second must be the first or its end", in[0], in[1])
	}
	if err := checkShape(k, "the sum", out[0], in[0].Shape...); err != nil {
		return nil, err
	}
	a, b, y := device.Slice[F](in[0]), device.Slice[F](in[1]), device.Slice[F](out[0])
	add := adding[F](d)
	return d.eachChunk(len(a), func(from, to int) {
		for from < to {
			n := len(b) - from%len(b) // b ends here and starts again
			n = min(n, to-from)
			add(y[from:][:n], a[from:][:n], b[from%len(b):][:n])
			from += n
		}
	}), nil
}

// addVectors writes a+b to y, all of one length; y may be a.
func addVectors[F float](y, a, b []F) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] + b[i]
	}
}

// adding returns addVectors, or the vector kernel that does the same.
func adding[F float](d *Device) func(y, a, b []F) {
	set := vectors[F](d)
	if set == nil {
		return addVectors[F]
	}
	return func(y, a, b []F) { set.Add(len(y), address(y), address(a), address(b)) }
}

// copyChunk is the bytes that a worker copies at a time.
const copyChunk = 1 << 16

// prepareCopy copies bytes, so that it serves all types.
func prepareCopy(d *Device, k device.Copy, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	if err := checkType(k, in[0].DType, out[0]); err != nil {
		return nil, err
	}
	if in[0].Len() != out[0].Len() {
		return nil, errShapes(k, "the numbers of elements differ", in[0], out[0])
	}
	x, y := bytesOf(in[0]), bytesOf(out[0])
	return d.parallel(chunksOf(len(x), copyChunk), func(chunk, _ int) {
		from, to := chunkRange(chunk, copyChunk, len(x))
		copy(y[from:to], x[from:to])
	}), nil
}

// bytesOf returns the memory of a buffer; nil when it is not wanted.
func bytesOf(b device.Buffer) []byte {
	if b.Ptr == nil {
		return nil
	}
	return unsafe.Slice((*byte)(b.Ptr), b.Bytes())
}

// prepareOneHot clears each row and writes its one.
func prepareOneHot[F float](d *Device, k device.OneHot, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	if err := checkFloat[F](k, out[0]); err != nil {
		return nil, err
	}
	if err := checkInt(k, in[0]); err != nil {
		return nil, err
	}
	if n := len(out[0].Shape); n == 0 || !slices.Equal(out[0].Shape[:n-1], in[0].Shape) {
		return nil, errShapes(k, "the result must have the shape of the ids and one more axis", in[0], out[0])
	}
	ids, y := indicesOf(in[0]), device.Slice[F](out[0])
	_, v := splitLast(out[0].Shape)
	size := rowsPerChunk(v)
	return d.parallel(chunksOf(ids.len(), size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, ids.len())
		for i := from; i < to; i++ {
			row := y[i*v:][:v]
			clear(row)
			if id := ids.at(i); id >= 0 && id < v {
				row[id] = 1
			}
		}
	}), nil
}
