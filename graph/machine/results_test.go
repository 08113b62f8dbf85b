package machine_test

import (
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/machine"
)

// Parameters that are added up share a gradient node; each gets the gradient in its own memory.
func TestIntoSeveralPlaces(t *testing.T) {
	g := gorgonia.NewGraph()
	a, b := input(g, "a", []float64{1, 2}, 2), input(g, "b", []float64{3, 4}, 2)
	loss := must(t)(gorgonia.Sum(must(t)(gorgonia.Square(must(t)(graph.Add(a, b))))))
	grads, err := gorgonia.Grad(loss, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if grads[0] != grads[1] {
		t.Fatal("the two gradients are nodes of their own; the test wants one")
	}
	va, vb := tensor.New(tensor.WithShape(2), tensor.Of(tensor.Float64)), tensor.New(tensor.WithShape(2), tensor.Of(tensor.Float64))
	run(t, newMachine(t, g, machine.Outputs(loss), machine.Into(grads[0], va), machine.Into(grads[1], vb)))
	for _, v := range []*tensor.Dense{va, vb} { // 2(a+b)
		if got := v.Float64s(); got[0] != 8 || got[1] != 12 {
			t.Errorf("gradient %v, want [8 12]", got)
		}
	}
}

// Memory that something else lives in is refused.
func TestIntoMemoryInUse(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", []float64{1, 2}, 2)
	y := must(t)(graph.ReLU(x))
	z := must(t)(graph.Add(y, y))
	v := tensor.New(tensor.WithShape(2), tensor.Of(tensor.Float64))
	if _, err := machine.New(g, machine.Into(y, v), machine.Into(z, v)); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("two results in one place: %v; want an error", err)
	}
	if _, err := machine.New(g, machine.Into(z, x.Value())); err == nil || !strings.Contains(err.Error(), "in use by x") {
		t.Errorf("a result in an input's place: %v; want an error naming it", err)
	}
	if _, err := machine.New(g, machine.Into(z, nil)); err == nil || !strings.Contains(err.Error(), "no memory for the result") {
		t.Errorf("a result without memory: %v; want an error", err)
	}
	if _, err := machine.New(nil); err == nil {
		t.Error("no graph: no error")
	}
}
