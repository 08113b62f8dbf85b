package cpu

import (
	"math"
	"testing"

	"tinylm/internal/device"
)

// launchOnce prepares and runs a kernel, failing the test on an error.
func launchOnce(t *testing.T, k device.Kernel, out, in []device.Buffer) {
	t.Helper()
	run, err := New(2).Prepare(k, out, in)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
}

// TestGELUForms holds known values that tell the two forms apart.
func TestGELUForms(t *testing.T) {
	x := []float64{-3, -1, -0.5, 1, 3}
	for kind, want := range map[device.ActivationKind][]float64{
		device.GELUTanh:  {-0.003637392, -0.158808009, -0.154285990, 0.841191991, 2.996362608},
		device.GELUExact: {-0.004049694, -0.158655254, -0.154268769, 0.841344746, 2.995950306},
	} {
		y := make([]float64, len(x))
		launchOnce(t, device.Activation{Kind: kind}, []device.Buffer{device.Of(y)}, []device.Buffer{device.Of(x)})
		for i := range y {
			if math.Abs(y[i]-want[i]) > 1e-9 {
				t.Errorf("kind %d: GELU(%v) = %v, want %v", kind, x[i], y[i], want[i])
			}
		}
	}
}

// TestGELUFloat32 compares the short formulas with the definitions over the range where they matter.
func TestGELUFloat32(t *testing.T) {
	for i := range 40_000 {
		x := []float32{float32(i-20_000) * 6e-4}
		var y [1]float32
		v := float64(x[0])
		u := math.Sqrt(2/math.Pi) * (v + 0.044715*v*v*v)
		for _, c := range []struct {
			name string
			f    func(y, x []float32)
			want float64
		}{
			{"tanh form", geluTanh[float32], v / (1 + math.Exp(-2*u))},
			{"exact form", geluExact[float32], v * math.Erfc(-v/math.Sqrt2) / 2},
		} {
			c.f(y[:], x)
			if e := math.Abs(float64(y[0]) - c.want); e > 2e-6*math.Abs(c.want)+1e-37 {
				t.Fatalf("%s of %v is %v, want %v", c.name, v, y[0], c.want)
			}
		}
	}
}

func TestActivationsKeepNaN(t *testing.T) {
	for _, kind := range []device.ActivationKind{device.ReLU, device.GELUTanh, device.GELUExact} {
		y := make([]float32, 3)
		x := []float32{1, float32(math.NaN()), 1}
		launchOnce(t, device.Activation{Kind: kind}, []device.Buffer{device.Of(y)}, []device.Buffer{device.Of(x)})
		if y[0] != y[0] || y[1] == y[1] || y[2] != y[2] {
			t.Errorf("kind %d of (1, NaN, 1) is %v, want NaN in the middle only", kind, y)
		}
	}
}
