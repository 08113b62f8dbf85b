package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
	"tinylm/internal/node"
)

// Embedding gathers rows of a table: table (V, C), ids (S...) of type int32, int64 or int; result
// (S..., C). An id outside 0..V-1 is an error at run time. The gradient adds up repeated ids.
func Embedding(table, ids *gorgonia.Node) (*gorgonia.Node, error) {
	t, err := float(table)
	if err == nil {
		err = integer(ids)
	}
	if err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	if table.Dims() != 2 {
		return nil, fmt.Errorf("embedding: table %v; want a matrix (V, C)", table.Shape())
	}
	return apply(rule{
		kernel: device.Embedding{},
		out:    []device.Spec{{DType: t, Shape: append(node.Dims(ids), node.Last(table))}},
		diff:   1,
		grad: func(in gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dtable, err := apply(rule{kernel: device.EmbeddingGrad{}, out: []device.Spec{like(in[0])}}, in[1], dy)
			return gorgonia.Nodes{dtable}, err
		},
	}, table, ids)
}

// OneHot writes ids (S...) as rows (S..., classes) of floating-point type t: 1 at the id, 0 elsewhere.
// An id outside 0..classes-1 gives a row of zeros. It has no gradient.
func OneHot(ids *gorgonia.Node, classes int, t tensor.Dtype) (*gorgonia.Node, error) {
	if err := integer(ids); err != nil {
		return nil, fmt.Errorf("onehot: %w", err)
	}
	dt, err := floatType(t)
	if err != nil || classes < 1 {
		return nil, fmt.Errorf("onehot: type %v and %d classes; want a float type and at least 1", t, classes)
	}
	return apply(rule{
		kernel: device.OneHot{},
		out:    []device.Spec{{DType: dt, Shape: append(node.Dims(ids), classes)}},
	}, ids)
}

func integer(n *gorgonia.Node) error {
	switch n.Dtype() {
	case tensor.Int32, tensor.Int64, tensor.Int:
		return nil
	}
	return fmt.Errorf("%s is of type %v; want int32, int64 or int", n.Name(), n.Dtype())
}
