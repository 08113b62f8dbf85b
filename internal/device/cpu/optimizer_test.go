package cpu

import (
	"fmt"
	"math"
	"testing"

	"tinylm/internal/device"
)

// adamWRun updates one weight of 1 with the gradients in turn and returns its values after each.
func adamWRun[F float](t *testing.T, rate, decay, scale float64, grads ...float64) []float64 {
	t.Helper()
	w, m, v, g := []F{1}, []F{0}, []F{0}, []F{0}
	hyper := []float64{rate, decay, scale, 0}
	state := []device.Buffer{device.Of(w), device.Of(m), device.Of(v)}
	run, err := New(1).Prepare(device.AdamW{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8},
		state, append(state[:3:3], device.Of(g), device.Of(hyper)))
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, x := range grads {
		g[0] = F(x)
		hyper[hyperUpdate]++
		if err := run(); err != nil {
			t.Fatal(err)
		}
		values = append(values, float64(w[0]))
	}
	return values
}

// TestAdamW holds values computed apart from any implementation; the wrong ways to place eps or decay
// differ in the second digit.
func TestAdamW(t *testing.T) {
	for _, c := range []struct {
		name               string
		rate, decay, scale float64
		grads, want        []float64
	}{
		{"eps after bias correction, outside the root", 0.1, 0, 1, []float64{1e-8}, []float64{0.95}},
		{"decay only", 0.1, 0.1, 1, make([]float64, 10), []float64{9: math.Pow(0.99, 10)}},
		{"no decay", 0.1, 0, 1, make([]float64, 10), []float64{9: 1}},
		{"decoupled decay", 0.1, 0.1, 1, []float64{0.5, -0.3, 0.2}, []float64{0.890000002, 0.8619501989, 0.8185879288}},
		{"scaled gradient", 0.1, 0.1, 0.25, []float64{2, -1.2, 0.8}, []float64{0.890000002, 0.8619501989, 0.8185879288}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, typ := range []struct {
				name  string
				run   func(*testing.T, float64, float64, float64, ...float64) []float64
				limit float64
			}{{"float64", adamWRun[float64], 1e-9}, {"float32", adamWRun[float32], 1e-6}} {
				got := typ.run(t, c.rate, c.decay, c.scale, c.grads...)
				for i, w := range c.want {
					if w != 0 && math.Abs(got[i]-w) > typ.limit {
						t.Errorf("%s: weight %v after step %d, want %v", typ.name, got[i], i+1, w)
					}
				}
			}
		})
	}
}

func TestAdamWNeedsItsStateInPlace(t *testing.T) {
	b := func() device.Buffer { return device.Of([]float32{1}) }
	w, m, v := b(), b(), b()
	_, err := New(1).Prepare(device.AdamW{}, []device.Buffer{w, b(), v},
		[]device.Buffer{w, m, v, b(), device.Of(make([]float64, hyperLen))})
	if want := "cpu: adamw: output 1 must be the same buffer as input 1"; fmt.Sprint(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
