package machine_test

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"tinylm/graph"
	"tinylm/graph/machine"
)

// A NaN is traced to the node that made it.
func TestFirstNonFinite(t *testing.T) {
	g := gorgonia.NewGraph()
	x, w := input(g, "x", []float64{1, 2}, 1, 2), input(g, "weights", []float64{1e300, 1e300}, 2, 1)
	y := must(t)(graph.Linear(x, w, nil))
	z := must(t)(graph.Linear(y, input(g, "next", []float64{1e300}, 1, 1), nil))
	r := must(t)(graph.ReLU(z))
	m := newMachine(t, g, machine.Outputs(r))
	got, err := m.FirstNonFinite()
	if err != nil || !strings.Contains(got, "linear at next") || !strings.Contains(got, "3e+300") {
		t.Errorf("FirstNonFinite() = %q, %v; want the second product with its input's range", got, err)
	}
	x.Value().Data().([]float64)[0] = 1e-300
	x.Value().Data().([]float64)[1] = 1e-300
	if got, err := m.FirstNonFinite(); got != "" || err != nil {
		t.Errorf("FirstNonFinite() of a finite graph = %q, %v", got, err)
	}
}

// An overflow to -Inf is traced to its node; -Inf out of a mask is not taken for one.
func TestFirstNonFiniteNegative(t *testing.T) {
	g := gorgonia.NewGraph()
	x, mask := input(g, "x", []float64{1, 2}, 1, 2), input(g, "mask", []float64{math.Inf(-1), 0}, 2)
	masked := must(t)(graph.Add(x, mask))
	p := must(t)(graph.Softmax(masked))
	y := must(t)(graph.Linear(p, input(g, "w", []float64{0, -1e300}, 2, 1), nil))
	z := must(t)(graph.Linear(y, input(g, "v", []float64{1e300}, 1, 1), nil))
	m := newMachine(t, g, machine.Outputs(z))
	if got, err := m.FirstNonFinite(); err != nil || !strings.HasPrefix(got, "linear at v") {
		t.Errorf("FirstNonFinite() = %q, %v; want the second product", got, err)
	}
}

// A step of several joined ones is traced by the name of the one that made the numbers.
func TestFirstNonFiniteJoined(t *testing.T) {
	b := newBuilder(t)
	x := b.in(2, 2)
	w := input(b.g, "large", []float64{1e300, 1e300, 1e300, 1e300}, 2, 2)
	h := must(t)(graph.Linear(must(t)(graph.Linear(x, w, nil)), input(b.g, "next", []float64{1e300, 0, 0, 1e300}, 2, 2), nil))
	y := must(t)(graph.Softmax(must(t)(graph.Add(b.in(2, 2), h))))
	m := newMachine(t, b.g, machine.Outputs(y))
	if got, err := m.FirstNonFinite(); err != nil || !strings.HasPrefix(got, "linear at next: inputs ") || !strings.Contains(got, "e+300") {
		t.Errorf("FirstNonFinite() = %q, %v; want the second product", got, err)
	}
}
