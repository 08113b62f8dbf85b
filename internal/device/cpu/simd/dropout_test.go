//go:build unix

package simd

import (
	"math/bits"
	"testing"
)

// TestPhiloxKnownAnswers tells the words by thresholds: the word itself keeps, one more drops. The answers are those
// of the authors' own distribution (Random123, kat_vectors).
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, s := range Sets() {
		for _, c := range []struct {
			counter [4]uint32
			key     [2]uint32
			words   [4]uint32
		}{
			{words: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
			{
				counter: [4]uint32{ones, ones, ones, ones},
				key:     [2]uint32{ones, ones},
				words:   [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
			},
			{
				counter: [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
				key:     [2]uint32{0xa4093822, 0x299f31d0},
				words:   [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
			},
		} {
			for i, word := range c.words {
				var kept, dropped [4]float32
				s.Keep(4, &kept[0], c.counter, c.key, word, 2)
				s.Keep(4, &dropped[0], c.counter, c.key, word+1, 2)
				if kept[i] != 2 || dropped[i] != 0 {
					t.Errorf("%s: counter %x, key %x: word %d is not %x", s.Name, c.counter, c.key, i, word)
				}
			}
		}
	}
}

// keptWords returns n words from a counter on, by ten rounds written out (Salmon et al. 2011, section 3.3).
func keptWords(n int, counter [4]uint32, key [2]uint32) []uint32 {
	var words []uint32
	for i := range uint32((n + 3) / 4) {
		b := [4]uint32{counter[0] + i, counter[1], counter[2], counter[3]}
		for round := range uint32(10) {
			hi0, lo0 := bits.Mul32(0xD2511F53, b[0])
			hi1, lo1 := bits.Mul32(0xCD9E8D57, b[2])
			b = [4]uint32{hi1 ^ b[1] ^ (key[0] + round*0x9E3779B9), lo1, hi0 ^ b[3] ^ (key[1] + round*0xBB67AE85), lo0}
		}
		words = append(words, b[:]...)
	}
	return words[:n]
}

// TestDropout compares every factor, for every length and rare and frequent thresholds, beside forbidden memory.
func TestDropout(t *testing.T) {
	eachPlacement(t, func(t *testing.T, s *Set, place func(n int) []float32) {
		for i, n := range oddSizes {
			counter := [4]uint32{numbers.Uint32(), numbers.Uint32(), numbers.Uint32(), numbers.Uint32()}
			if i%5 == 0 {
				counter[0] = 1<<32 - 2 // it starts again at 0
			}
			key := [2]uint32{numbers.Uint32(), numbers.Uint32()}
			words := keptWords(n, counter, key)
			x, residual, y := normal(place(n), 0, 1), normal(place(n), 0, 1), place(n)
			for _, drop := range []uint32{0, 1, words[n/2], words[n/2] + 1, 1 << 31, 1<<32 - 1, numbers.Uint32()} {
				const factor = 1.25
				check := func(what string, want func(i int, f float32) float32) {
					t.Helper()
					for i, w := range words {
						f := float32(factor)
						if w < drop {
							f = 0
						}
						if y[i] != want(i, f) {
							t.Fatalf("%s of %d, threshold %x, counter %x, key %x: value %d is %v, want %v (word %x)",
								what, n, drop, counter, key, i, y[i], want(i, f), w)
						}
					}
				}
				s.Keep(n, &y[0], counter, key, drop, factor)
				check("factors", func(_ int, f float32) float32 { return f })
				s.Drop(n, &y[0], &x[0], counter, key, drop, factor)
				check("dropout", func(i int, f float32) float32 { return x[i] * f })
				s.DropAdd(n, &y[0], &x[0], &residual[0], counter, key, drop, factor)
				check("dropout and residual", func(i int, f float32) float32 { return residual[i] + float32(x[i]*f) })
				copy(y, x)
				s.DropAdd(n, &y[0], &y[0], &residual[0], counter, key, drop, factor)
				check("dropout in place", func(i int, f float32) float32 { return residual[i] + float32(x[i]*f) })
			}
		}
	})
}

func BenchmarkDropout(b *testing.B) {
	const n = 4096
	x, y := normal(make([]float32, n), 0, 1), make([]float32, n)
	for _, s := range Sets() {
		b.Run(s.Name+"/keep", func(b *testing.B) {
			perElement(b, n, func() { s.Keep(n, &y[0], [4]uint32{}, [2]uint32{}, 1<<30, 2) })
		})
		b.Run(s.Name+"/add", func(b *testing.B) {
			perElement(b, n, func() { s.DropAdd(n, &y[0], &x[0], &x[0], [4]uint32{}, [2]uint32{}, 1<<30, 2) })
		})
	}
}
