package cpu

import (
	"testing"

	"tinylm/internal/device/devicetest"
)

func TestConformance(t *testing.T) { devicetest.Run(t, New(2)) }

// TestWorkersGiveEqualBits compares every kernel's results for several numbers of workers.
func TestWorkersGiveEqualBits(t *testing.T) {
	devicetest.Same(t, New(1), New(2), New(3), New(8))
}
