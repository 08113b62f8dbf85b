package cpu

import (
	"cmp"

	"tinylm/internal/device"
)

func prepareDropout[F float](d *Device, k device.Dropout, out, in []device.Buffer) (device.Launch, error) {
	inputs := 2
	if k.Residual {
		inputs++
	}
	if err := checkCount(k, out, in, 1, inputs); err != nil {
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
	var residual []F // nil without one
	if k.Residual {
		if err := cmp.Or(checkFloat[F](k, in[2]), checkShape(k, "residual", in[2], x.Shape...)); err != nil {
			return nil, err
		}
		residual = device.Slice[F](in[2])
	}
	if keep == nil {
		if residual == nil {
			return d.eachChunk(len(ys), func(from, to int) { copy(ys[from:to], xs[from:to]) }), nil
		}
		add := adding[F](d)
		return d.eachChunk(len(ys), func(from, to int) { add(ys[from:to], xs[from:to], residual[from:to]) }), nil
	}
	keep.on(d)
	size := sampleSize(x.Shape)
	return d.eachChunk(len(ys), func(from, to int) {
		for from < to {
			n := min(to-from, size-from%size)
			var r []F
			if residual != nil {
				r = residual[from:][:n]
			}
			keep.apply(ys[from:][:n], xs[from:][:n], r, from/size, from%size)
			from += n
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
	f, size := device.Slice[F](mask), sampleSize(mask.Shape)
	keep.on(d)
	return d.eachChunk(len(f), func(from, to int) {
		if keep == nil {
			for i := from; i < to; i++ {
				f[i] = 1
			}
			return
		}
		for from < to {
			n := min(to-from, size-from%size)
			keep.factors(f[from:][:n], from/size, from%size)
			from += n
		}
	}), nil
}

// sampleSize returns the elements of one sample of (B, S...).
func sampleSize(shape []int) int { return product(shape[min(1, len(shape)):]) }
