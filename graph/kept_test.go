package graph_test

import (
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/gradcheck"
)

// TestBuildersKeepCopies: what the caller does to a slice of axes after building changes nothing.
func TestBuildersKeepCopies(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6}
	for _, c := range []struct {
		name  string
		axes  []int
		build func(g *gorgonia.ExprGraph, axes []int) (*node, error)
		shape []int
		want  []float64 // nil: only the shape is known
	}{
		{"reshape", []int{3, 2}, func(g *gorgonia.ExprGraph, axes []int) (*node, error) {
			return graph.Reshape(leaf(g, "x", tensor.Float64, []int{2, 3}, x), axes...)
		}, []int{3, 2}, x},
		{"transpose", []int{1, 0}, func(g *gorgonia.ExprGraph, axes []int) (*node, error) {
			return graph.Transpose(leaf(g, "x", tensor.Float64, []int{2, 3}, x), axes...)
		}, []int{3, 2}, []float64{1, 4, 2, 5, 3, 6}},
		{"expand", []int{2, 3}, func(g *gorgonia.ExprGraph, axes []int) (*node, error) {
			return graph.Expand(leaf(g, "x", tensor.Float64, []int{1, 3}, x[:3]), axes...)
		}, []int{2, 3}, []float64{1, 2, 3, 1, 2, 3}},
		{"reduce", []int{1, 3}, func(g *gorgonia.ExprGraph, axes []int) (*node, error) {
			return graph.Reduce(leaf(g, "x", tensor.Float64, []int{2, 3}, x), axes...)
		}, []int{1, 3}, []float64{5, 7, 9}},
		{"keepmask", []int{2, 3}, func(g *gorgonia.ExprGraph, axes []int) (*node, error) {
			return graph.KeepMask(graph.DropoutConfig{P: 0.5, RNG: rng(g)}, tensor.Float64, axes...)
		}, []int{2, 3}, nil},
	} {
		for name, engine := range map[string]gradcheck.Engine{"machine": gradcheck.Machine, "tape machine": gradcheck.TapeMachine} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				axes := slices.Clone(c.axes)
				out := must(t)(c.build(gorgonia.NewGraph(), axes))
				for i := range axes {
					axes[i] = 1 - min(1, axes[i]) // 1 and 0 exchanged, others 0
				}
				got := run(t, engine, out)[0]
				if !slices.Equal(out.Shape(), c.shape) || len(got) != size(c.shape) {
					t.Fatalf("%d values of shape %v, want shape %v", len(got), out.Shape(), c.shape)
				}
				if c.want != nil && !slices.Equal(got, c.want) {
					t.Errorf("%v, want %v", got, c.want)
				}
			})
		}
	}
}
