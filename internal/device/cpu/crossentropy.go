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
	e := newCrossEntropy[F](d, k, k, logits, targets, loss, count)
	e.lse = device.Slice[F](lse)
	return e.launch(d), nil
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

// crossEntropy is a bound CrossEntropy, or the losses of a CrossEntropyBoth.
type crossEntropy[F float] struct {
	name device.Kernel // as errors call it
	k    device.CrossEntropy
	v    int // classes
	exp  exponentials[F]
	size int // rows of a chunk

	logits  []F
	targets indices

	loss, count, lse []F // nil when not wanted

	losses  []float64 // of each row; 0 where ignored
	counted int       // targets that are not ignored
}

func newCrossEntropy[F float](d *Device, name device.Kernel, k device.CrossEntropy, logits, targets, loss, count device.Buffer) *crossEntropy[F] {
	v, exp := logits.Shape[len(logits.Shape)-1], exponentialsOn[F](d)
	return &crossEntropy[F]{
		name: name, k: k, v: v, exp: exp, size: rowsPerChunk(exp.cost * v),
		logits: device.Slice[F](logits), targets: indicesOf(targets),
		loss: device.Slice[F](loss), count: device.Slice[F](count),
		losses: make([]float64, targets.Len()),
	}
}

// launch computes the losses.
func (e *crossEntropy[F]) launch(d *Device) device.Launch {
	return inTurn(e.begin, d.parallel(chunksOf(len(e.losses), e.size), e.rows), e.total)
}

// begin checks and counts the targets.
func (e *crossEntropy[F]) begin() (err error) {
	e.counted, err = countTargets(e.name, e.targets, e.k.IgnoreIndex, e.v)
	return err
}

// countTargets returns the number of targets that are not ignored; the first of them that is not in 0..v-1
// is an error.
func countTargets(k device.Kernel, targets indices, ignore, v int) (int, error) {
	counted := 0
	for i := range targets.len() {
		t := targets.at(i)
		if t == ignore {
			continue
		}
		if t < 0 || t >= v {
			return 0, targets.errOutside(k, "target", i, v)
		}
		counted++
	}
	return counted, nil
}

func (e *crossEntropy[F]) rows(chunk, _ int) {
	from, to := chunkRange(chunk, e.size, len(e.losses))
	for r := from; r < to; r++ {
		x := e.logits[r*e.v : (r+1)*e.v]
		shift := e.exp.shift(x)
		log := math.Log(e.exp.sum(x, shift))
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
	sum := 0.0
	for _, l := range e.losses {
		sum += l
	}
	if e.k.Mean && e.counted > 0 {
		sum /= float64(e.counted)
	}
	if e.loss != nil {
		e.loss[0] = F(sum)
	}
	if e.count != nil {
		e.count[0] = F(e.counted)
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
	var name device.Kernel = k // once: a launch allocates nothing
	check := func() error {
		_, err := countTargets(name, at, k.IgnoreIndex, v)
		return err
	}
	exp := exponentialsOn[F](d)
	return inTurn(check, d.eachRow(dlogits, exp.cost, func(r, from, to int) {
		dx := dxs[from:to]
		if at.at(r) == k.IgnoreIndex {
			clear(dx)
			return
		}
		scale := up[0]
		if k.Mean {
			scale /= counts[0]
		}
		exp.crossEntropyGrad(dx, xs[from:to], at.at(r), lses[r], scale)
	})), nil
}

// crossEntropyGrad sets dx = (softmax(x) - onehot(target)) * scale. Dividing by the sum of
// exp(x-shift), which is nearly 1 when shift is log(sum(exp(x))), takes out the rounding of shift. dx may be x.
func (e exponentials[F]) crossEntropyGrad(dx, x []F, target int, shift, scale F) (sum float64) {
	sum = e.row(dx, x, shift)
	e.scale(dx, F(float64(scale)/sum))
	dx[target] -= scale
	return sum
}
