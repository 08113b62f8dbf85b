package cpu

import (
	"cmp"
	"math"
	"slices"

	"tinylm/internal/device"
)

func prepareCrossEntropy[F float](d *Device, k device.CrossEntropy, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 3, 2); err != nil {
		return nil, err
	}
	logits, targets := in[0], in[1]            // (N..., V), (N...)
	loss, count, lse := out[0], out[1], out[2] // (), (), (N)
	if err := cmp.Or(
		checkLogits[F](k, logits, targets),
		checkFloat[F](k, loss, count, lse),
		checkShape(k, "loss", loss),
		checkShape(k, "count", count),
		checkShape(k, "lse", lse, targets.Len()),
	); err != nil {
		return nil, err
	}
	e := &crossEntropy[F]{
		k:      k,
		v:      logits.Shape[len(logits.Shape)-1],
		logits: device.Slice[F](logits), targets: indicesOf(targets),
		loss: device.Slice[F](loss), count: device.Slice[F](count), lse: device.Slice[F](lse),
		losses: make([]float64, targets.Len()),
	}
	e.size = rowsPerChunk(8 * e.v)
	check := checkTargets(k, e.targets, k.IgnoreIndex, e.v)
	return inTurn(check, d.parallel(chunksOf(len(e.losses), e.size), e.rows), e.total), nil
}

// checkLogits checks logits and their targets.
func checkLogits[F float](k device.Kernel, logits, targets device.Buffer) error {
	if err := cmp.Or(checkFloat[F](k, logits), checkInt(k, targets)); err != nil {
		return err
	}
	if n := len(logits.Shape); n == 0 || !slices.Equal(logits.Shape[:n-1], targets.Shape) {
		return errShapes(k, "logits (N..., V) need targets (N...)", logits, targets)
	}
	return nil
}

// crossEntropy is a bound CrossEntropy.
type crossEntropy[F float] struct {
	k    device.CrossEntropy
	v    int // classes
	size int // rows of a chunk

	logits  []F
	targets indices

	loss, count, lse []F // nil when not wanted

	losses []float64 // of each row; 0 where ignored
}

// checkTargets returns a Launch that reports the first target that is neither ignored nor in 0..v-1.
func checkTargets(k device.Kernel, targets indices, ignore, v int) device.Launch {
	return func() error {
		for i := range targets.len() {
			if t := targets.at(i); t != ignore && (t < 0 || t >= v) {
				return targets.errOutside(k, "target", i, v)
			}
		}
		return nil
	}
}

func (e *crossEntropy[F]) rows(chunk, _ int) {
	from, to := chunkRange(chunk, e.size, len(e.losses))
	for r := from; r < to; r++ {
		x := e.logits[r*e.v : (r+1)*e.v]
		shift := shiftOf(x)
		log := math.Log(expSum(x, shift))
		e.losses[r] = 0
		if t := e.targets.at(r); t != e.k.IgnoreIndex {
			e.losses[r] = log - float64(x[t]-shift)
		}
		if e.lse != nil {
			e.lse[r] = F(float64(shift) + log)
		}
	}
}

// total adds up the losses of the rows.
func (e *crossEntropy[F]) total() error {
	sum, n := 0.0, 0
	for r, l := range e.losses {
		sum += l
		if e.targets.at(r) != e.k.IgnoreIndex {
			n++
		}
	}
	if e.k.Mean && n > 0 {
		sum /= float64(n)
	}
	if e.loss != nil {
		e.loss[0] = F(sum)
	}
	if e.count != nil {
		e.count[0] = F(n)
	}
	return nil
}

func prepareCrossEntropyGrad[F float](d *Device, k device.CrossEntropyGrad, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 5); err != nil {
		return nil, err
	}
	logits, targets, lse, count, dloss := in[0], in[1], in[2], in[3], in[4] // (N..., V), (N...), (N), (), ()
	dlogits := out[0]                                                       // (N..., V)
	if err := cmp.Or(
		checkLogits[F](k, logits, targets),
		checkFloat[F](k, lse, count, dloss, dlogits),
		checkShape(k, "lse", lse, targets.Len()),
		checkShape(k, "count", count),
		checkShape(k, "dloss", dloss),
		checkShape(k, "dlogits", dlogits, logits.Shape...),
	); err != nil {
		return nil, err
	}
	xs, at, lses := device.Slice[F](logits), indicesOf(targets), device.Slice[F](lse)
	counts, up, dxs := device.Slice[F](count), device.Slice[F](dloss), device.Slice[F](dlogits)
	_, v := splitLast(logits.Shape)
	check := checkTargets(k, at, k.IgnoreIndex, v)
	return inTurn(check, d.eachRow(dlogits, 8, func(r, from, to int) {
		dx := dxs[from:to]
		if at.at(r) == k.IgnoreIndex {
			clear(dx)
			return
		}
		scale := up[0]
		if k.Mean {
			scale /= counts[0]
		}
		crossEntropyGradRow(dx, xs[from:to], at.at(r), lses[r], scale)
	})), nil
}

// crossEntropyGradRow sets dx = (softmax(x) - onehot(target)) * scale. Dividing by the sum of
// exp(x-lse), which is nearly 1, takes out the rounding of lse. dx may be x.
func crossEntropyGradRow[F float](dx, x []F, target int, lse, scale F) {
	sum := expRow(dx, x, lse)
	inv := F(1 / sum)
	for i, p := range dx {
		dx[i] = F(p*inv) * scale
	}
	dx[target] -= scale
}
