package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
)

// Add is x + y, the residual connection: x (S...), y of the same shape or a suffix of it, which is
// repeated over the leading axes (a bias, or position embeddings (T, C) on (B, T, C)).
func Add(x, y *gorgonia.Node) (*gorgonia.Node, error) {
	if _, err := float(x, y); err != nil {
		return nil, fmt.Errorf("add: %w", err)
	}
	if !suffix(x.Shape(), y.Shape()) {
		return nil, fmt.Errorf("add: %s; the second is not a suffix of the first", shapes(x, y))
	}
	return apply(rule{
		kernel: device.Add{},
		out:    []device.Spec{like(x)},
		diff:   2,
		grad: func(in gorgonia.Nodes, _, dz *gorgonia.Node) (gorgonia.Nodes, error) {
			dy, err := sumLeading(dz, in[1])
			return gorgonia.Nodes{dz, dy}, err
		},
	}, x, y)
}

// sumLeading sums x over its leading axes down to the shape of a suffix.
func sumLeading(x, suffix *gorgonia.Node) (*gorgonia.Node, error) {
	if x.Dims() == suffix.Dims() {
		return x, nil
	}
	return apply(rule{kernel: device.SumLeading{}, out: []device.Spec{like(suffix)}}, x)
}
