package node

import (
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
)

func TestShape(t *testing.T) {
	n := gorgonia.NewTensor(gorgonia.NewGraph(), gorgonia.Float64, 3, gorgonia.WithShape(2, 3, 5), gorgonia.WithName("n"))
	if d := Dims(n); !slices.Equal(d, []int{2, 3, 5}) {
		t.Errorf("axes %v, want [2 3 5]", d)
	}
	if l := Leading(n); !slices.Equal(l, []int{2, 3}) {
		t.Errorf("leading axes %v, want [2 3]", l)
	}
	if Last(n) != 5 || Rows(n) != 6 {
		t.Errorf("%d rows of %d, want 6 of 5", Rows(n), Last(n))
	}
	_ = append(Leading(n), 7)
	Dims(n)[0] = 9
	Leading(n)[0] = 9
	if !slices.Equal(n.Shape(), []int{2, 3, 5}) {
		t.Errorf("writing to copies of the shape made it %v", n.Shape())
	}
}

func TestInputs(t *testing.T) {
	g := gorgonia.NewGraph()
	a := gorgonia.NewVector(g, gorgonia.Float64, gorgonia.WithShape(2), gorgonia.WithName("a"))
	b := gorgonia.NewVector(g, gorgonia.Float64, gorgonia.WithShape(2), gorgonia.WithName("b"))
	for _, want := range []gorgonia.Nodes{{a, b}, {b, a}, {a, a}} {
		n, err := gorgonia.Sub(want[0], want[1])
		if err != nil {
			t.Fatal(err)
		}
		if in := Inputs(n); !slices.Equal(in, want) {
			t.Errorf("inputs %v, want %v", in, want)
		}
	}
	if in := Inputs(a); len(in) != 0 {
		t.Errorf("a leaf has inputs %v", in)
	}
}
