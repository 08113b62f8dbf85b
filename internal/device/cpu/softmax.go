package cpu

import (
	"cmp"
	"math"

	"tinylm/internal/device"
)

func prepareSoftmax[F float](d *Device, k device.Softmax, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 1); err != nil {
		return nil, err
	}
	x, y := in[0], out[0] // (N..., V)
	if err := cmp.Or(checkFloat[F](k, x, y), checkShape(k, "y", y, x.Shape...)); err != nil {
		return nil, err
	}
	xs, ys := device.Slice[F](x), device.Slice[F](y)
	row := softmaxRow[F]
	if k.Log {
		row = logSoftmaxRow[F]
	}
	return d.eachRow(y, 10, func(_, from, to int) { row(ys[from:to], xs[from:to]) }), nil
}

// eachRow returns a Launch that calls row for each row r of the last axis of y, with the range of its
// elements, which cost that many nanoseconds each.
func (d *Device) eachRow(y device.Buffer, cost int, row func(r, from, to int)) device.Launch {
	rows, last := splitLast(y.Shape)
	size := rowsPerChunk(cost * last)
	return d.parallel(chunksOf(rows, size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, rows)
		for r := from; r < to; r++ {
			row(r, r*last, (r+1)*last)
		}
	})
}

// softmaxRow sets y = exp(x-max)/sum(exp(x-max)), or 0 where all of x is -Inf. y may be x.
func softmaxRow[F float](y, x []F) {
	sum := expRow(y, x, shiftOf(x))
	inv := F(0)
	if sum != 0 {
		inv = 1 / F(sum)
	}
	for i := range y {
		y[i] *= inv
	}
}

// logSoftmaxRow sets y = x - max - log(sum(exp(x-max))), or -Inf where all of x is -Inf. y may be x.
func logSoftmaxRow[F float](y, x []F) {
	shift := shiftOf(x)
	log := F(0)
	if sum := expSum(x, shift); sum != 0 {
		log = F(math.Log(sum))
	}
	for i, x := range x {
		y[i] = x - shift - log
	}
}

// shiftOf returns the maximum of x, or 0 when x has no element above -Inf: subtracting it keeps exp
// from overflowing and -Inf-(-Inf) from becoming NaN. A NaN among x may be passed over; exp meets it.
func shiftOf[F float](x []F) F {
	m := F(math.Inf(-1))
	for _, x := range x {
		if x > m {
			m = x
		}
	}
	if math.IsInf(float64(m), -1) {
		return 0
	}
	return m
}

// expRow sets y = exp(x-shift) and returns the sum, taken in float64. y may be x.
func expRow[F float](y, x []F, shift F) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		y0, y1, y2, y3 := exp(x[i]-shift), exp(x[i+1]-shift), exp(x[i+2]-shift), exp(x[i+3]-shift)
		y[i], y[i+1], y[i+2], y[i+3] = y0, y1, y2, y3
		s0 += float64(y0)
		s1 += float64(y1)
		s2 += float64(y2)
		s3 += float64(y3)
	}
	for ; i < len(x); i++ {
		y[i] = exp(x[i] - shift)
		s0 += float64(y[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// expSum is expRow without its y.
func expSum[F float](x []F, shift F) float64 {
	var buf [64]F
	sum := 0.0
	for len(x) > 0 {
		n := min(len(x), len(buf))
		sum += expRow(buf[:n], x[:n], shift)
		x = x[n:]
	}
	return sum
}

func prepareSoftmaxGrad[F float](d *Device, k device.SoftmaxGrad, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	dy, y, dx := in[0], in[1], out[0] // (N..., V)
	if err := cmp.Or(checkFloat[F](k, dy, y, dx), checkShape(k, "y", y, dy.Shape...), checkShape(k, "dx", dx, dy.Shape...)); err != nil {
		return nil, err
	}
	dys, ys, dxs := device.Slice[F](dy), device.Slice[F](y), device.Slice[F](dx)
	row := softmaxGradRow[F]
	if k.Log {
		row = logSoftmaxGradRow[F]
	}
	return d.eachRow(dx, 10, func(_, from, to int) { row(dxs[from:to], dys[from:to], ys[from:to]) }), nil
}

// softmaxGradRow sets dx = y*(dy - sum(dy*y)). dx may be dy.
func softmaxGradRow[F float](dx, dy, y []F) {
	sum := 0.0
	for i, g := range dy {
		sum += float64(float64(g) * float64(y[i]))
	}
	for i, g := range dy {
		dx[i] = y[i] * (g - F(sum))
	}
}

// logSoftmaxGradRow sets dx = dy - exp(y)*sum(dy). dx may be dy.
func logSoftmaxGradRow[F float](dx, dy, y []F) {
	sum := 0.0
	for _, g := range dy {
		sum += float64(g)
	}
	for i, g := range dy {
		dx[i] = g - F(exp(y[i])*F(sum))
	}
}
