package train

import (
	"math"
	"testing"
)

// Warm-up 4, decay to step 10, from 1e-3 to 1e-4: never 0, the maximum exactly, then down to the minimum
// exactly. The numbers were computed apart from this code.
func TestSchedule(t *testing.T) {
	s := Schedule{Max: 1e-3, Min: 1e-4, Warmup: 4, Decay: 10}
	want := []float64{0.0002, 0.0004, 0.0006, 0.0008, 0.001, 0.0009397114, 0.000775, 0.00055, 0.000325, 0.0001602886, 0.0001, 0.0001}
	for i, w := range want {
		if got := s.Rate(i); math.Abs(got-w) > 1e-10 {
			t.Errorf("step %d: %v, want %v", i, got, w)
		}
	}
	if got := s.Rate(4); got != s.Max {
		t.Errorf("the highest rate is %v, want exactly %v", got, s.Max)
	}
	if got := s.Rate(10); got != s.Min {
		t.Errorf("the lowest rate is %v, want exactly %v", got, s.Min)
	}
	s.Warmup = 0
	if got := s.Rate(0); got != s.Max {
		t.Errorf("without warm-up step 0 has %v, want %v", got, s.Max)
	}
}
