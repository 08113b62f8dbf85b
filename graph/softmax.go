package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
)

// Softmax normalises the last axis of x (N..., V), subtracting the row's maximum first, so that large
// values neither overflow nor turn NaN. A row of -Inf gives zeros.
func Softmax(x *gorgonia.Node) (*gorgonia.Node, error) { return softmax(x, false) }

// LogSoftmax is the logarithm of Softmax over the last axis.
func LogSoftmax(x *gorgonia.Node) (*gorgonia.Node, error) { return softmax(x, true) }

// SoftmaxAxis is Softmax over any axis, counted from 0.
func SoftmaxAxis(x *gorgonia.Node, axis int) (*gorgonia.Node, error) {
	d := x.Dims()
	if axis < 0 || axis >= d {
		return nil, fmt.Errorf("softmax: axis %d of %v; want 0..%d", axis, x.Shape(), d-1)
	}
	if axis == d-1 {
		return Softmax(x)
	}
	swap := make([]int, d) // exchanging two axes is its own inverse
	for i := range swap {
		swap[i] = i
	}
	swap[axis], swap[d-1] = d-1, axis
	t, err := Transpose(x, swap...)
	if err != nil {
		return nil, err
	}
	if t, err = Softmax(t); err != nil {
		return nil, err
	}
	return Transpose(t, swap...)
}

func softmax(x *gorgonia.Node, log bool) (*gorgonia.Node, error) {
	if _, err := float(x); err != nil {
		return nil, fmt.Errorf("softmax: %w", err)
	}
	if x.Dims() < 1 {
		return nil, fmt.Errorf("softmax: x is a scalar; want (..., V)")
	}
	return apply(rule{
		kernel: device.Softmax{Log: log},
		out:    []device.Spec{like(x)},
		diff:   1,
		grad: func(_ gorgonia.Nodes, y, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := apply(rule{kernel: device.SoftmaxGrad{Log: log}, out: []device.Spec{like(y)}}, dy, y)
			return gorgonia.Nodes{dx}, err
		},
	}, x)
}
