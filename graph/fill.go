package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
)

// FillWhere replaces elements of x (S...) by a value where the mask is true or, for a mask of x's type,
// not 0. The mask's axes, aligned at the last, are x's or 1. Replaced elements have gradient 0.
func FillWhere(x, mask *gorgonia.Node, value float64) (*gorgonia.Node, error) {
	if _, err := float(x); err != nil {
		return nil, fmt.Errorf("fill: %w", err)
	}
	if t := mask.Dtype(); t != tensor.Bool && t != x.Dtype() {
		return nil, fmt.Errorf("fill: mask of type %v; want bool or %v", t, x.Dtype())
	}
	missing := x.Dims() - mask.Dims()
	for i, n := range mask.Shape() {
		if missing < 0 || n != 1 && n != x.Shape()[missing+i] {
			return nil, fmt.Errorf("fill: mask %v does not broadcast to %v", mask.Shape(), x.Shape())
		}
	}
	return apply(rule{
		kernel: device.Fill{Value: value},
		out:    []device.Spec{like(x)},
		diff:   1,
		grad: func(in gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := FillWhere(dy, in[1], 0)
			return gorgonia.Nodes{dx}, err
		},
	}, x, mask)
}

// FillFuture replaces in each matrix of x (N..., Tq, Tk) what stands right of the diagonal: the scores of
// keys that come after the query.
func FillFuture(x *gorgonia.Node, value float64) (*gorgonia.Node, error) {
	if _, err := float(x); err != nil {
		return nil, fmt.Errorf("fill: %w", err)
	}
	if x.Dims() < 2 {
		return nil, fmt.Errorf("fill: x %v; want (..., Tq, Tk)", x.Shape())
	}
	return apply(rule{
		kernel: device.Fill{Value: value, Causal: true},
		out:    []device.Spec{like(x)},
		diff:   1,
		grad: func(_ gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := FillFuture(dy, 0)
			return gorgonia.Nodes{dx}, err
		},
	}, x)
}
