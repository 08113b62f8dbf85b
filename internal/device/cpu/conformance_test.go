package cpu

import (
	"testing"

	"tinylm/internal/device/cpu/simd"
	"tinylm/internal/device/devicetest"
)

// everySet runs f for each set of kernels that this machine can run, plain Go last.
func everySet(t *testing.T, f func(t *testing.T, set *simd.Set)) {
	for _, set := range append(simd.Sets(), nil) {
		name := simd.Generic
		if set != nil {
			name = set.Name
		}
		t.Run(name, func(t *testing.T) { f(t, set) })
	}
}

func TestConformance(t *testing.T) {
	everySet(t, func(t *testing.T, set *simd.Set) { devicetest.Run(t, NewWith(2, set)) })
}

// TestWorkersGiveEqualBits compares every kernel's results for several numbers of workers.
func TestWorkersGiveEqualBits(t *testing.T) {
	everySet(t, func(t *testing.T, set *simd.Set) {
		devicetest.Same(t, NewWith(1, set), NewWith(2, set), NewWith(3, set), NewWith(8, set))
	})
}
