package cpu

import (
	"cmp"
	"fmt"
	"math"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
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
	drop   uint64    // a word below this drops its element
	factor F         // of a kept element
	set    *simd.Set // nil for plain Go
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

// on makes k use the vector kernels of the device, if it has any; k may be nil.
func (k *keeper[F]) on(d *Device) *keeper[F] {
	if k != nil && k.drop <= math.MaxUint32 {
		k.set = vectors[F](d)
	}
	return k
}

func checkProbability(k device.Kernel, p float64) error {
	if !(p >= 0 && p < 1) {
		return fmt.Errorf("cpu: %s: dropout probability %v is outside [0, 1)", k.Name(), p)
	}
	return nil
}

// block returns the counter that draws the words of four elements of a sample, and the key.
func (k *keeper[F]) block(sample, element int) (counter [4]uint32, key [2]uint32) {
	seed := uint64(k.rng[0])
	counter = [4]uint32{uint32(element / 4), uint32(k.rng[2] + int64(sample)), k.site, uint32(k.rng[1])}
	return counter, [2]uint32{uint32(seed), uint32(seed >> 32)}
}

// factors fills f with the factors of the elements first, first+1, ... of a sample.
func (k *keeper[F]) factors(f []F, sample, first int) {
	n := k.scalars(len(f), first)
	k.words(f[:n], sample, first)
	if n < len(f) {
		counter, key := k.block(sample, first+n)
		k.set.Keep(len(f)-n, address(f[n:]), counter, key, uint32(k.drop), float32(k.factor))
	}
}

// scalars returns how many of n elements are for plain Go: all, or those as far as the first whole block of four.
func (k *keeper[F]) scalars(n, first int) int {
	if k.set == nil {
		return n
	}
	return min(n, -first&3)
}

// words is factors in plain Go.
func (k *keeper[F]) words(f []F, sample, first int) {
	for i := 0; i < len(f); {
		c, key := k.block(sample, first+i)
		words := philox(c[0], c[1], c[2], c[3], key[0], key[1])
		for lane := (first + i) % 4; lane < 4 && i < len(f); lane++ {
			f[i] = k.factor
			if uint64(words[lane]) < k.drop {
				f[i] = 0
			}
			i++
		}
	}
}

// apply sets y = x*factors, or y = residual + x*factors when there is a residual, for the elements first, first+1,
// ... of a sample. y may be x.
func (k *keeper[F]) apply(y, x, residual []F, sample, first int) {
	var f [64]F
	for n := k.scalars(len(x), first); n > 0; {
		part := f[:min(n, len(f))]
		k.words(part, sample, first)
		for i, f := range part {
			y[i] = F(x[i] * f)
			if residual != nil {
				y[i] += residual[i]
			}
		}
		n, first = n-len(part), first+len(part)
		y, x = y[len(part):], x[len(part):]
		if residual != nil {
			residual = residual[len(part):]
		}
	}
	if len(x) == 0 {
		return
	}
	counter, key := k.block(sample, first)
	if residual == nil {
		k.set.Drop(len(x), address(y), address(x), counter, key, uint32(k.drop), float32(k.factor))
		return
	}
	k.set.DropAdd(len(x), address(y), address(x), address(residual), counter, key, uint32(k.drop), float32(k.factor))
}
