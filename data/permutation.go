package data

import "math/bits"

// permutation is a keyed shuffle of 0..n-1 that needs no memory: a balanced Feistel network over
// the smallest even number of bits that holds n, applied again while the result is n or more
// ("cycle walking"; Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002). The network
// permutes less than 4n values, so that a walk takes fewer than four steps on average.
type permutation struct {
	n    uint64
	half uint // bits of each half
	keys [feistelRounds]uint64
}

const feistelRounds = 8

// newPermutation returns the shuffle of n >= 1 values that belongs to seed and pass.
func newPermutation(n int, seed, pass int64) permutation {
	p := permutation{n: uint64(n), half: uint(bits.Len64(uint64(n-1))+1) / 2}
	key := mix64(mix64(uint64(seed)) ^ uint64(pass))
	for i := range p.keys {
		key += 0x9E3779B97F4A7C15 // golden ratio: SplitMix64's sequence
		p.keys[i] = mix64(key)
	}
	return p
}

// at returns where the shuffle sends i, for 0 <= i < n.
func (p *permutation) at(i int) int {
	mask := uint64(1)<<p.half - 1
	x := uint64(i)
	for {
		left, right := x>>p.half, x&mask
		for _, key := range p.keys {
			left, right = right, left^(mix64(right^key)&mask)
		}
		if x = left<<p.half | right; x < p.n {
			return int(x)
		}
	}
}

// mix64 is the finaliser of SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number
// Generators, 2014).
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
