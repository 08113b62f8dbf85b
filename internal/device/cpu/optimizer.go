package cpu

import (
	"fmt"
	"math"

	"tinylm/internal/device"
)

// Indices into the hyper input of [device.AdamW].
const (
	hyperRate = iota
	hyperDecay
	hyperScale
	hyperUpdate
	hyperLen
)

func prepareAdamW[F float](d *Device, k device.AdamW, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 3, 5); err != nil {
		return nil, err
	}
	if err := checkFloat[F](k, in[:4]...); err != nil {
		return nil, err
	}
	for i, what := range []string{"w", "m", "v", "g"} {
		if err := checkShape(k, what, in[i], in[0].Shape...); err != nil {
			return nil, err
		}
	}
	for i := range out {
		if out[i].Ptr != in[i].Ptr {
			return nil, fmt.Errorf("cpu: %s: output %d must be the same buffer as input %d", k.Name(), i, i)
		}
	}
	if err := checkType(k, device.Float64, in[4]); err != nil {
		return nil, err
	}
	if err := checkShape(k, "hyper", in[4], hyperLen); err != nil {
		return nil, err
	}
	w, m, v, g := device.Slice[F](in[0]), device.Slice[F](in[1]), device.Slice[F](in[2]), device.Slice[F](in[3])
	hyper := device.Slice[float64](in[4])
	return d.eachChunk(len(w), func(from, to int) {
		adamW(k, hyper, w[from:to], m[from:to], v[from:to], g[from:to])
	}), nil
}

// adamW is one update of a part of the parameters (Loshchilov and Hutter 2019, algorithm 2).
func adamW[F float](k device.AdamW, hyper []float64, w, m, v, g []F) {
	rate, update := hyper[hyperRate], hyper[hyperUpdate]
	var (
		keep   = F(1 - float64(rate*hyper[hyperDecay]))
		scale  = F(hyper[hyperScale])
		step   = F(rate / (1 - math.Pow(k.Beta1, update)))
		root   = F(math.Sqrt(1 - math.Pow(k.Beta2, update)))
		blend1 = F(1 - k.Beta1)
		beta2  = F(k.Beta2)
		blend2 = F(1 - k.Beta2)
		eps    = F(k.Eps)
	)
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	for i, x := range w {
		grad := F(g[i] * scale)
		mean := m[i] + F(blend1*(grad-m[i]))
		square := F(v[i]*beta2) + F(F(blend2*grad)*grad)
		m[i], v[i] = mean, square
		denom := F(F(math.Sqrt(float64(square)))/root) + eps
		w[i] = F(x*keep) - F(F(step*mean)/denom)
	}
}
