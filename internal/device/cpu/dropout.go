package cpu

import (
	"cmp"

	"tinylm/internal/device"
)

// dropoutPart is how many factors a worker draws at a time.
const dropoutPart = 1024

func prepareDropout[F float](d *Device, k device.Dropout, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	x, y := in[0], out[0] // (B, S...)
	if err := cmp.Or(checkFloat[F](k, x, y), checkShape(k, "y", y, x.Shape...)); err != nil {
		return nil, err
	}
	keep, err := newKeeper[F](k, k.P, k.Site, sampleSize(x.Shape), in[1])
	if err != nil {
		return nil, err
	}
	xs, ys := device.Slice[F](x), device.Slice[F](y)
	if keep == nil {
		return d.parallel(chunksOf(len(ys), chunkLen), func(chunk, _ int) {
			from, to := chunkRange(chunk, chunkLen, len(ys))
			copy(ys[from:to], xs[from:to])
		}), nil
	}
	d.reserve(dropoutPart * x.DType.Size())
	return d.parallel(chunksOf(len(ys), dropoutPart), func(chunk, worker int) {
		from, to := chunkRange(chunk, dropoutPart, len(ys))
		f := scratchOf[F](d, worker)[:to-from]
		keep.flat(f, from, sampleSize(x.Shape))
		xs, ys := xs[from:to], ys[from:to]
		for i, f := range f {
			ys[i] = xs[i] * f
		}
	}), nil
}

func prepareKeepMask[F float](d *Device, k device.KeepMask, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	mask := out[0] // (B, S...)
	keep, err := newKeeper[F](k, k.P, k.Site, sampleSize(mask.Shape), in[0])
	if err != nil {
		return nil, err
	}
	f := device.Slice[F](mask)
	return d.parallel(chunksOf(len(f), dropoutPart), func(chunk, _ int) {
		from, to := chunkRange(chunk, dropoutPart, len(f))
		if keep != nil {
			keep.flat(f[from:to], from, sampleSize(mask.Shape))
			return
		}
		for i := from; i < to; i++ {
			f[i] = 1
		}
	}), nil
}

// sampleSize returns the elements of one sample of (B, S...).
func sampleSize(shape []int) int { return product(shape[min(1, len(shape)):]) }

// flat fills f with the factors of the elements from, from+1, ... of a batch of samples of size elements.
func (k *keeper[F]) flat(f []F, from, size int) {
	for len(f) > 0 {
		n := min(len(f), size-from%size)
		k.factors(f[:n], from/size, from%size)
		f, from = f[n:], from+n
	}
}
