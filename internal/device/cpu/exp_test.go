package cpu

import (
	"math"
	"testing"
)

// TestExpError walks over all exponents and signs and measures the error in units in the last place.
func TestExpError(t *testing.T) {
	worst, at := 0.0, float32(0)
	for b := uint64(0); b < 1<<32; b += 4099 {
		x := math.Float32frombits(uint32(b))
		got, want := exp(x), math.Exp(float64(x))
		w := float32(want)
		switch {
		case x != x || math.IsInf(float64(w), 0) || w == 0:
			if got != w && !(x != x && got != got) {
				t.Fatalf("exp(%v) = %v, want %v", x, got, w)
			}
			continue
		}
		ulp := float64(math.Nextafter32(w, math.MaxFloat32)) - float64(w)
		if e := math.Abs(float64(got)-want) / ulp; e > worst {
			worst, at = e, x
		}
	}
	if worst > 0.55 {
		t.Errorf("exp(%v) is wrong by %.3f units in the last place, at most 0.55 allowed", at, worst)
	}
}

func TestExpLimits(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range [][2]float64{
		{0, 1}, {inf, inf}, {-inf, 0}, {88.8, inf}, {-104, 0}, {math.MaxFloat32, inf}, {-math.MaxFloat32, 0},
		{1, float64(float32(math.E))}, {-745, 0}, {-88, float64(float32(math.Exp(-88)))},
	} {
		if got := float64(exp(float32(c[0]))); got != c[1] {
			t.Errorf("exp(float32 %v) = %v, want %v", c[0], got, c[1])
		}
	}
	if x := exp(float32(math.NaN())); x == x {
		t.Errorf("exp(NaN) = %v", x)
	}
	if got := exp(1.0); got != math.E {
		t.Errorf("exp(1.0) = %v, want %v", got, math.E)
	}
}
