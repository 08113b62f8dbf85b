package cpu

import (
	"cmp"
	"fmt"
	"math"

	"tinylm/internal/device"
)

// philox returns the four words that Philox4x32-10 draws for a counter and a key (Salmon et al.,
// "Parallel Random Numbers: As Easy as 1, 2, 3", 2011, section 3.3).
func philox(c0, c1, c2, c3, k0, k1 uint32) [4]uint32 {
	const (
		mul0, mul1   = 0xD2511F53, 0xCD9E8D57
		weyl0, weyl1 = 0x9E3779B9, 0xBB67AE85 // the golden ratio and sqrt(3)-1
	)
	for range 10 {
		a, b := uint64(c0)*mul0, uint64(c2)*mul1
		c0, c1, c2, c3 = uint32(b>>32)^c1^k0, uint32(b), uint32(a>>32)^c3^k1, uint32(a)
		k0 += weyl0
		k1 += weyl1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// keeper draws the factors of dropout, 0 or 1/(1-P), in the way [device.Dropout] fixes.
type keeper[F float] struct {
	rng    []int64 // seed, step, index of sample 0; read at each launch
	site   uint32
	drop   uint64 // a word below this drops its element
	factor F      // of a kept element
}

// maxDropped is the number of elements of a sample that the counter can tell apart.
const maxDropped int64 = 4 << 32

// newKeeper checks a dropout of samples of size elements. With P = 0 it returns nil.
func newKeeper[F float](k device.Kernel, p float64, site uint32, size int, rng device.Buffer) (*keeper[F], error) {
	if err := checkProbability(k, p); err != nil || p == 0 {
		return nil, err
	}
	if err := cmp.Or(checkType(k, device.Int64, rng), checkShape(k, "rng", rng, 3)); err != nil {
		return nil, err
	}
	if int64(size) > maxDropped {
		return nil, fmt.Errorf("cpu: %s: dropout over %d elements a sample, at most %d can be numbered", k.Name(), size, maxDropped)
	}
	return &keeper[F]{
		rng:    device.Slice[int64](rng),
		site:   site,
		drop:   uint64(math.Round(p * (1 << 32))),
		factor: F(1 / (1 - p)),
	}, nil
}

func checkProbability(k device.Kernel, p float64) error {
	if !(p >= 0 && p < 1) {
		return fmt.Errorf("cpu: %s: dropout probability %v is outside [0, 1)", k.Name(), p)
	}
	return nil
}

// factors fills f with the factors of the elements first, first+1, ... of a sample.
func (k *keeper[F]) factors(f []F, sample, first int) {
	seed, step := uint64(k.rng[0]), uint32(k.rng[1])
	global := uint32(k.rng[2] + int64(sample))
	for i := 0; i < len(f); {
		words := philox(uint32((first+i)/4), global, k.site, step, uint32(seed), uint32(seed>>32))
		for lane := (first + i) % 4; lane < 4 && i < len(f); lane++ {
			f[i] = k.factor
			if uint64(words[lane]) < k.drop {
				f[i] = 0
			}
			i++
		}
	}
}
