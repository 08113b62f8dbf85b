package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/node"
)

// Reshape gives x another shape of the same length. Unlike gorgonia.Reshape the result never shares
// memory that another node may overwrite.
func Reshape(x *gorgonia.Node, shape ...int) (*gorgonia.Node, error) {
	t, err := float(x)
	if err != nil {
		return nil, fmt.Errorf("reshape: %w", err)
	}
	out := device.Spec{DType: t, Shape: shape}
	if out.Len() != x.Shape().TotalSize() {
		return nil, fmt.Errorf("reshape: %v has %d elements, %v holds %d", x.Shape(), x.Shape().TotalSize(), shape, out.Len())
	}
	return apply(rule{
		kernel: device.Copy{},
		out:    []device.Spec{out},
		diff:   1,
		grad: func(in gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := Reshape(dy, node.Dims(in[0])...)
			return gorgonia.Nodes{dx}, err
		},
	}, x)
}

// Transpose permutes the axes: axis i of the result is axis perm[i] of x.
func Transpose(x *gorgonia.Node, perm ...int) (*gorgonia.Node, error) {
	t, err := float(x)
	if err != nil {
		return nil, fmt.Errorf("transpose: %w", err)
	}
	shape, inverse := make([]int, len(perm)), make([]int, len(perm))
	seen := make([]bool, len(perm))
	for i, p := range perm {
		if len(perm) != x.Dims() || p < 0 || p >= len(perm) || seen[p] {
			return nil, fmt.Errorf("transpose: %v is not a permutation of the axes of %v", perm, x.Shape())
		}
		seen[p] = true
		shape[i], inverse[p] = x.Shape()[p], i
	}
	return apply(rule{
		kernel: device.Transpose{Perm: slices.Clone(perm)},
		out:    []device.Spec{{DType: t, Shape: shape}},
		diff:   1,
		grad: func(_ gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := Transpose(dy, inverse...)
			return gorgonia.Nodes{dx}, err
		},
	}, x)
}

// SliceLast takes columns from..to-1 of the last axis: x (N..., C), result (N..., to-from).
func SliceLast(x *gorgonia.Node, from, to int) (*gorgonia.Node, error) {
	t, err := float(x)
	if err != nil {
		return nil, fmt.Errorf("slice: %w", err)
	}
	if x.Dims() < 1 || from < 0 || from >= to || to > node.Last(x) {
		return nil, fmt.Errorf("slice: columns %d..%d of %v", from, to, x.Shape())
	}
	return apply(rule{
		kernel: device.SliceLast{From: from, To: to},
		out:    []device.Spec{{DType: t, Shape: append(node.Leading(x), to-from)}},
		diff:   1,
		grad: func(in gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := apply(rule{kernel: device.PadLast{From: from, To: to}, out: []device.Spec{like(in[0])}}, dy)
			return gorgonia.Nodes{dx}, err
		},
	}, x)
}

// SplitLast cuts the last axis into n equal parts: x (N..., n*C), results (N..., C).
func SplitLast(x *gorgonia.Node, n int) (gorgonia.Nodes, error) {
	if x.Dims() < 1 || n < 1 || node.Last(x)%n != 0 {
		return nil, fmt.Errorf("split: the last axis of %v is not divisible by %d", x.Shape(), n)
	}
	var all gorgonia.Nodes
	c := node.Last(x) / n
	for i := range n {
		s, err := SliceLast(x, i*c, (i+1)*c)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
