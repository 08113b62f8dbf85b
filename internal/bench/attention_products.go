package bench

import (
	"time"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu"
)

// products measures the six matrix products of the composed form, two forward and four backward, over
// buffers of their own.
func (a *attention) products() (ms, rate float64, err error) {
	h, t, d := a.Heads, a.length, a.HeadWidth
	k := &kernels{dev: cpu.Default()}
	x, y, z := k.floats(h, t, d), k.floats(h, t, d), k.floats(h, t, d)
	scores := k.floats(h, t, t)
	k.add(device.MatMul{TransB: true}, scores, x, y) // scores = q·kᵀ (H, T, T)
	k.add(device.MatMul{}, z, scores, x)             // y = weights·v (H, T, D)
	k.add(device.MatMul{TransA: true}, z, scores, x) // dv = weightsᵀ·dy (H, T, D)
	k.add(device.MatMul{TransB: true}, scores, x, y) // dweights = dy·vᵀ (H, T, T)
	k.add(device.MatMul{}, z, scores, x)             // dq = dscores·k (H, T, D)
	k.add(device.MatMul{TransA: true}, z, scores, x) // dk = dscoresᵀ·q (H, T, D)
	took, err := k.fastest(a.spend)
	if err != nil {
		return 0, 0, err
	}
	flops := 2 * float64(h) * float64(t) * float64(t) * float64(d) * float64(len(k.launches))
	return milliseconds(took), round(perSecond(flops, took), 1), nil
}

// projection measures what makes queries, keys and values of x (T, C), forward and backward: one product
// with a matrix (C, 3C), and three with (C, C).
func (a *attention) projection(r *AttentionResult) error {
	one, err := a.project(1)
	if err != nil {
		return err
	}
	three, err := a.project(3)
	r.ProjectionMs, r.SeparateMs = milliseconds(one), milliseconds(three)
	return err
}

func (a *attention) project(parts int) (time.Duration, error) {
	t, c := a.length, a.Heads*a.HeadWidth
	m := 3 * c / parts
	k := &kernels{dev: cpu.Default()}
	x, dx := k.floats(t, c), k.floats(t, c)
	for i := range parts {
		w, bias, y, dw := k.floats(c, m), k.floats(m), k.floats(t, m), k.floats(c, m)
		k.add(device.Linear{Bias: true}, y, x, w, bias)
		k.add(device.LinearWeightGrad{}, dw, x, y)
		if i == 0 {
			k.add(device.Linear{TransW: true}, dx, y, w)
			continue
		}
		before := dx
		dx = k.floats(t, c)
		k.add(device.Linear{TransW: true, Residual: true}, dx, y, w, before)
	}
	return k.fastest(a.spend)
}
