package cpu

import (
	"cmp"
	"math"

	"tinylm/internal/device"
)

// crossEntropyBoth is a bound CrossEntropyBoth.
type crossEntropyBoth[F float] struct {
	*crossEntropy[F]
	dloss, dlogits []F // dlogits is nil when not wanted
}

func prepareCrossEntropyBoth[F float](d *Device, k device.CrossEntropyBoth, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 3, 3); err != nil {
		return nil, err
	}
	logits, targets, dloss := in[0], in[1], in[2]  // (N..., V), (N...), ()
	dlogits, loss, count := out[0], out[1], out[2] // (N..., V), (), ()
	if err := cmp.Or(
		checkLogits[F](k, logits, targets),
		checkFloat[F](k, dloss, dlogits, loss, count),
		checkShape(k, "dloss", dloss),
		checkShape(k, "dlogits", dlogits, logits.Shape...),
		checkShape(k, "loss", loss),
		checkShape(k, "count", count),
	); err != nil {
		return nil, err
	}
	e := &crossEntropyBoth[F]{
		crossEntropy: newCrossEntropy[F](d, k, device.CrossEntropy(k), logits, targets, loss, count),
		dloss:        device.Slice[F](dloss), dlogits: device.Slice[F](dlogits),
	}
	if e.dlogits == nil {
		return e.crossEntropy.launch(d), nil
	}
	return inTurn(e.begin, d.parallel(chunksOf(len(e.losses), e.size), e.rows), e.total), nil
}

// rows computes losses and gradients; dlogits may lie on the logits.
func (e *crossEntropyBoth[F]) rows(chunk, _ int) {
	scale := e.dloss[0]
	if e.k.Mean {
		scale /= F(e.counted)
	}
	from, to := chunkRange(chunk, e.size, len(e.losses))
	for r := from; r < to; r++ {
		x, dx := e.logits[r*e.v:(r+1)*e.v], e.dlogits[r*e.v:(r+1)*e.v]
		e.losses[r] = 0
		t := e.targets.at(r)
		if t == e.k.IgnoreIndex {
			clear(dx)
			continue
		}
		shift := e.exp.shift(x)
		at := float64(x[t] - shift)
		e.losses[r] = math.Log(e.exp.crossEntropyGrad(dx, x, t, shift, scale)) - at
	}
}
