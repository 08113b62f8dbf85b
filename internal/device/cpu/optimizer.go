package cpu

import (
	"fmt"
	"math"
	"unsafe"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
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
	factors := new(simd.AdamWFactors[F])
	begin := func() error {
		*factors = adamWFactors[F](k, hyper)
		return nil
	}
	update := adamW[F]
	if set := vectors[F](d); set != nil {
		update = func(f *simd.AdamWFactors[F], w, m, v, g []F) {
			set.AdamW(len(w), address(w), address(m), address(v), address(g), (*simd.AdamWFactors[float32])(unsafe.Pointer(f)))
		}
	}
	return inTurn(begin, d.eachChunk(len(w), func(from, to int) {
		update(factors, w[from:to], m[from:to], v[from:to], g[from:to])
	})), nil
}

// adamWFactors returns the factors of an update, rounded once from float64 (Loshchilov and Hutter 2019, algorithm 2).
func adamWFactors[F float](k device.AdamW, hyper []float64) simd.AdamWFactors[F] {
	rate, update := hyper[hyperRate], hyper[hyperUpdate]
	return simd.AdamWFactors[F]{
		Scale:  F(hyper[hyperScale]),
		Blend1: F(1 - k.Beta1),
		Beta2:  F(k.Beta2),
		Blend2: F(1 - k.Beta2),
		Root:   F(1 / math.Sqrt(1-math.Pow(k.Beta2, update))),
		Eps:    F(k.Eps),
		Keep:   F(1 - float64(rate*hyper[hyperDecay])),
		Step:   F(-rate / (1 - math.Pow(k.Beta1, update))),
	}
}

// adamW is one update of a part of the parameters; see [simd.AdamWFactors].
func adamW[F float](f *simd.AdamWFactors[F], w, m, v, g []F) {
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	for i, x := range w {
		grad := F(g[i] * f.Scale)
		mean := m[i] + F(f.Blend1*(grad-m[i]))
		square := F(v[i]*f.Beta2) + F(F(f.Blend2*grad)*grad)
		m[i], v[i] = mean, square
		denom := F(F(math.Sqrt(float64(square)))*f.Root) + f.Eps
		w[i] = F(x*f.Keep) + F(F(f.Step*mean)/denom)
	}
}
