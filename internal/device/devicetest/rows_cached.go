package devicetest

import (
	"fmt"
	"math"
	"slices"

	"tinylm/internal/device"
)

// cachedShape is the room of a cache, R texts of M tokens, its H and D, and the next T tokens of some texts.
type cachedShape struct{ r, m, h, d, t int }

func cachedCases() []Case {
	var cases []Case
	for i, c := range []struct {
		s  cachedShape
		at []float64 // of each text its row and the position of its first token
	}{
		{cachedShape{1, 1, 1, 1, 1}, []float64{0, 0}},
		{cachedShape{1, 9, 1, 3, 1}, []float64{0, 8}},
		{cachedShape{3, 20, 2, 15, 1}, []float64{2, 16, 0, 0, 1, 19}},
		{cachedShape{3, 70, 3, 16, 1}, []float64{1, 62, 2, 64}},
		{cachedShape{2, 40, 2, 17, 1}, []float64{-1, 12, 1, 32}},
		{cachedShape{4, 34, 1, 64, 1}, []float64{-1, 0, 3, 31, -1, 1000, 0, 14}},
		{cachedShape{1, 1100, 3, 64, 1}, []float64{0, 1023}},
		{cachedShape{1, 300, 1, 130, 1}, []float64{0, 256}},
		{cachedShape{1, 5, 1, 1, 5}, []float64{0, 0}},
		{cachedShape{2, 33, 2, 31, 17}, []float64{0, 0, 1, 16}},
		{cachedShape{2, 80, 3, 33, 15}, []float64{1, 50, -1, 0}},
		{cachedShape{1, 67, 2, 63, 65}, []float64{0, 2}},
		{cachedShape{1, 150, 1, 65, 31}, []float64{0, 100}},
		{cachedShape{2, 16, 2, 2, 16}, []float64{1, 0}},
	} {
		b, wide := len(c.at)/2, c.s.h*c.s.d
		seed := uint64(10 * i)
		typ := []device.DType{device.Int32, device.Int64}[i%2]
		cases = append(cases, Case{
			Name:   fmt.Sprintf("%+v%v", c.s, c.at),
			Kernel: device.CachedAttention{},
			In: []Tensor{cacheOf(seed, c.s, c.at), cacheOf(seed+1, c.s, c.at),
				random(seed+2, b, c.s.t, 3*wide), of(typ, []int{b, 2}, c.at...)},
			Out:   []Tensor{empty(b, c.s.t, wide)},
			State: 2,
			Ref:   func(in [][]float64) [][]float64 { return cachedRef(c.s, in) },
		})
	}
	return append(cases, cachedErrors()...)
}

// cacheOf fills what the texts have had before; all else is NaN, which must stay and harm nobody.
func cacheOf(seed uint64, s cachedShape, at []float64) Tensor {
	x := random(seed, s.r, s.h, s.m, s.d)
	for i := range x.Data {
		row, position := i/(s.h*s.m*s.d), i/s.d%s.m
		had := false
		for pair := range slices.Chunk(at, 2) {
			had = had || int(pair[0]) == row && position < int(pair[1])
		}
		if !had {
			x.Data[i] = math.NaN()
		}
	}
	return x
}

// cachedRef returns y and the cache afterwards.
func cachedRef(s cachedShape, in [][]float64) [][]float64 {
	keys, values, qkv, at := slices.Clone(in[0]), slices.Clone(in[1]), in[2], in[3]
	y := make([]float64, len(qkv)/3)
	for b := range len(at) / 2 {
		row, position := int(at[2*b]), int(at[2*b+1])
		if row < 0 {
			continue
		}
		for i := range s.t {
			for h := range s.h {
				wide := s.h * s.d
				cached := func(j int) int { return ((row*s.h+h)*s.m + j) * s.d }
				part := func(p int) []float64 { return qkv[((b*s.t+i)*3+p)*wide+h*s.d:][:s.d] }
				copy(keys[cached(position+i):], part(1))
				copy(values[cached(position+i):], part(2))
				scores := make([]float64, position+i+1)
				for j := range scores {
					for c, q := range part(0) {
						scores[j] += q * keys[cached(j)+c] / math.Sqrt(float64(s.d))
					}
				}
				for j, w := range softmaxRef(false, len(scores), scores) {
					for c := range s.d {
						y[(b*s.t+i)*wide+h*s.d+c] += w * values[cached(j)+c]
					}
				}
			}
		}
	}
	return [][]float64{y, keys, values}
}

func cachedErrors() []Case {
	ids := func(v ...float64) Tensor { return of(device.Int64, []int{len(v) / 2, 2}, v...) }
	cache := random(1, 2, 1, 4, 3)
	var cases []Case
	for _, c := range []struct {
		keys, values, qkv, at, y Tensor
		prepare, launch          string
	}{
		{cache, random(1, 2, 1, 5, 3), empty(1, 1, 9), ids(0, 0), empty(1, 1, 3), "[2 1 4 3] and [2 1 5 3]", ""},
		{random(1, 2, 4, 3), random(1, 2, 4, 3), empty(1, 1, 9), ids(0, 0), empty(1, 1, 3), "[2 4 3] and [2 4 3]", ""},
		{cache, cache, random(1, 1, 1, 8), ids(0, 0), empty(1, 1, 3), "[2 1 4 3] and [1 1 8]", ""},
		{cache, cache, random(1, 1, 5, 9), ids(0, 0), empty(1, 5, 3), "T of 4 at most", ""},
		{cache, cache, random(1, 1, 2, 9), ids(0, 0, 1, 0), empty(1, 2, 3), "at has shape [2 2], want [1 2]", ""},
		{cache, cache, random(1, 1, 2, 9), ids(0, 0), empty(2, 1, 3), "y has shape [2 1 3], want [1 2 3]", ""},
		{cache, cache, random(1, 1, 2, 9), random(1, 1, 2), empty(1, 2, 3), "want a buffer of int32 or int64", ""},
		{cache, cache, random(1, 1, 1, 9), ids(2, 0), empty(1, 1, 3), "", "text 0 has row 2 of the cache, which has rows 0..1"},
		{cache, cache, random(1, 1, 1, 9), ids(-2, 0), empty(1, 1, 3), "", "row -2"},
		{cache, cache, random(1, 1, 1, 9), ids(0, 4), empty(1, 1, 3), "", "text 0 puts 1 tokens at position 4 on, the cache has positions 0..3"},
		{cache, cache, random(1, 2, 2, 9), ids(0, 0, 1, 3), empty(2, 2, 3), "", "text 1 puts 2 tokens at position 3"},
		{cache, cache, random(1, 1, 1, 9), ids(0, -1), empty(1, 1, 3), "", "position -1"},
		{cache, cache, random(1, 3, 1, 9), ids(1, 0, -1, 0, 1, 2), empty(3, 1, 3), "", "texts 0 and 2 both have row 1"},
	} {
		cases = append(cases, Case{
			Name: fmt.Sprintf("error %d", len(cases)), Kernel: device.CachedAttention{},
			In: []Tensor{c.keys, c.values, c.qkv, c.at}, Out: []Tensor{c.y},
			PrepareErr: c.prepare, LaunchErr: c.launch,
		})
	}
	return cases
}
