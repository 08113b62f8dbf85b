package cpu

import (
	"cmp"
	"math"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
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
	e := exponentialsOn[F](d)
	row := e.softmax
	if k.Log {
		row = e.logSoftmax
	}
	return d.eachRow(y, e.cost, func(_, from, to int) { row(ys[from:to], xs[from:to]) }), nil
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

// exponentials are the parts that softmax and cross entropy are made of.
type exponentials[F float] struct {
	top      func(x []F) F                         // the maximum
	row      func(y, x []F, shift F) (sum float64) // y = exp(x-shift), for a shift of at least the maximum; y may be x
	sum      func(x []F, shift F) float64          // row without its y; the same sum
	scale    func(y []F, by F)                     // y *= by
	subtract func(y, x []F, a, b F)                // y = x - a - b
	cost     int                                   // nanoseconds for an element of softmax
}

// exponentialsOn returns the plain parts, or those made of the device's vector kernels.
func exponentialsOn[F float](d *Device) exponentials[F] {
	if set := vectors[F](d); set != nil {
		return vectorExponentials[F](set)
	}
	return exponentials[F]{maximum[F], expRow[F], expSum[F], scaleRow[F], subtractRow[F], 10}
}

// vectorPart is how many exponentials the vector kernels add up in float32.
const vectorPart = 4096

func vectorExponentials[F float](set *simd.Set) exponentials[F] {
	inParts := func(x []F, sum func(from, to int) float64) float64 {
		total := 0.0
		for from := 0; from < len(x); from += vectorPart {
			total += sum(from, min(len(x), from+vectorPart))
		}
		return total
	}
	return exponentials[F]{
		top: func(x []F) F { return F(set.Max(len(x), address(x))) },
		row: func(y, x []F, shift F) float64 {
			return inParts(x, func(from, to int) float64 {
				return set.Exp(to-from, address(y[from:]), address(x[from:]), float32(shift))
			})
		},
		sum: func(x []F, shift F) float64 {
			return inParts(x, func(from, to int) float64 {
				return set.ExpSum(to-from, address(x[from:]), float32(shift))
			})
		},
		scale:    func(y []F, by F) { set.Scale(len(y), address(y), address(y), float32(by)) },
		subtract: func(y, x []F, a, b F) { set.Subtract(len(x), address(y), address(x), float32(a), float32(b)) },
		cost:     1,
	}
}

// softmax sets y = exp(x-max)/sum(exp(x-max)), or 0 where all of x is -Inf. y may be x.
func (e exponentials[F]) softmax(y, x []F) {
	sum := e.row(y, x, e.shift(x))
	inv := F(0)
	if sum != 0 {
		inv = F(1 / sum)
	}
	e.scale(y, inv)
}

// logSoftmax sets y = x - max - log(sum(exp(x-max))), or -Inf where all of x is -Inf. y may be x.
func (e exponentials[F]) logSoftmax(y, x []F) {
	shift := e.shift(x)
	log := F(0)
	if sum := e.sum(x, shift); sum != 0 {
		log = F(math.Log(sum))
	}
	e.subtract(y, x, shift, log)
}

// shift is the maximum of x, or 0 when x has no element above -Inf: subtracting it keeps exp from overflowing and
// -Inf-(-Inf) from becoming NaN. A NaN among x may be passed over; exp meets it.
func (e exponentials[F]) shift(x []F) F { return finiteShift(e.top(x)) }

func finiteShift[F float](top F) F {
	if math.IsInf(float64(top), -1) {
		return 0
	}
	return top
}

// maximum is the largest element of x, -Inf when there is none but NaN.
func maximum[F float](x []F) F {
	m := F(math.Inf(-1))
	for _, x := range x {
		if x > m {
			m = x
		}
	}
	return m
}

// shiftOf is exponentials.shift in plain Go.
func shiftOf[F float](x []F) F { return finiteShift(maximum(x)) }

func scaleRow[F float](y []F, by F) {
	for i := range y {
		y[i] *= by
	}
}

func subtractRow[F float](y, x []F, a, b F) {
	for i, x := range x {
		y[i] = x - a - b
	}
}

// expPartLen is the number of exponentials that are added up together.
const expPartLen = 64

// expRow sets y = exp(x-shift) and returns the sum, taken in float64. y may be x.
func expRow[F float](y, x []F, shift F) float64 {
	sum := 0.0
	for len(x) > 0 {
		n := min(len(x), expPartLen)
		sum += expPart(y[:n], x[:n], shift)
		y, x = y[n:], x[n:]
	}
	return sum
}

// expSum is expRow without its y; the sum has the same bits.
func expSum[F float](x []F, shift F) float64 {
	var part [expPartLen]F
	sum := 0.0
	for len(x) > 0 {
		n := min(len(x), expPartLen)
		sum += expPart(part[:n], x[:n], shift)
		x = x[n:]
	}
	return sum
}

func expPart[F float](y, x []F, shift F) float64 {
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

func prepareSoftmaxGrad[F float](d *Device, k device.SoftmaxGrad, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	dy, y, dx := in[0], in[1], out[0] // (N..., V)
	if err := cmp.Or(checkFloat[F](k, dy, y, dx), checkShape(k, "y", y, dy.Shape...), checkShape(k, "dx", dx, dy.Shape...)); err != nil {
		return nil, err
	}
	dys, ys, dxs := device.Slice[F](dy), device.Slice[F](y), device.Slice[F](dx)
	row, cost := softmaxGradRow[F], 10
	if k.Log {
		row = logSoftmaxGradRow[F]
	}
	if set := vectors[F](d); set != nil {
		grad := set.SoftmaxGrad
		if k.Log {
			grad = set.LogSoftmaxGrad
		}
		row, cost = func(dx, dy, y []F) { grad(len(dx), address(dx), address(dy), address(y)) }, 1
	}
	return d.eachRow(dx, cost, func(_, from, to int) { row(dxs[from:to], dys[from:to], ys[from:to]) }), nil
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
