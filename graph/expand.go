package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
	"tinylm/internal/node"
)

// Expand repeats axes of length 1 to the given shape, which has x's rank.
func Expand(x *gorgonia.Node, shape ...int) (*gorgonia.Node, error) {
	return broadcast(x, shape, device.Expand{}, func(in gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
		dx, err := Reduce(dy, node.Dims(in[0])...)
		return gorgonia.Nodes{dx}, err
	})
}

// Reduce sums over the axes that have length 1 in the given shape, which has x's rank.
func Reduce(x *gorgonia.Node, shape ...int) (*gorgonia.Node, error) {
	return broadcast(x, shape, device.Reduce{}, func(in gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
		dx, err := Expand(dy, node.Dims(in[0])...)
		return gorgonia.Nodes{dx}, err
	})
}

func broadcast(x *gorgonia.Node, shape []int, k device.Kernel, grad gradient) (*gorgonia.Node, error) {
	t, err := float(x)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name(), err)
	}
	small, large := []int(x.Shape()), shape
	if _, ok := k.(device.Reduce); ok {
		small, large = large, small
	}
	for i := range small {
		if len(small) != len(large) || small[i] != large[i] && small[i] != 1 {
			return nil, fmt.Errorf("%s: %v to %v; want the same rank and axes that are equal or 1", k.Name(), x.Shape(), shape)
		}
	}
	if equal(small, large) {
		return x, nil
	}
	return apply(rule{kernel: k, out: []device.Spec{{DType: t, Shape: shape}}, grad: grad, diff: 1}, x)
}

// RowMax is the maximum of each row: x (N..., C), result (N..., 1). It has no gradient: it serves to shift
// a softmax, whose value does not depend on the shift.
func RowMax(x *gorgonia.Node) (*gorgonia.Node, error) {
	t, err := float(x)
	if err != nil {
		return nil, fmt.Errorf("rowmax: %w", err)
	}
	if x.Dims() < 1 {
		return nil, fmt.Errorf("rowmax: x is a scalar; want (..., C)")
	}
	return apply(rule{kernel: device.RowMax{}, out: []device.Spec{{DType: t, Shape: append(node.Leading(x), 1)}}}, x)
}

func floatType(t tensor.Dtype) (device.DType, error) {
	switch t {
	case tensor.Float32:
		return device.Float32, nil
	case tensor.Float64:
		return device.Float64, nil
	}
	return 0, fmt.Errorf("type %v; want float32 or float64", t)
}
