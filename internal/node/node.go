// Package node holds what every builder of graphs asks of a Gorgonia node: its shape, cut up, and its inputs.
package node

import (
	"slices"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
)

// Dims returns a copy of n's shape.
func Dims(n *gorgonia.Node) []int { return slices.Clone([]int(n.Shape())) }

// Last returns the length of the last axis. A scalar has none: Last panics.
func Last(n *gorgonia.Node) int { return n.Shape()[n.Dims()-1] }

// Leading returns a copy of the lengths of all axes but the last, with room for one more. A scalar has
// no last axis: Leading panics.
func Leading(n *gorgonia.Node) []int {
	return append(make([]int, 0, n.Dims()), n.Shape()[:n.Dims()-1]...)
}

// Rows returns N, the number of rows of the last axis: the product of the leading ones.
func Rows(n *gorgonia.Node) int { return device.Spec{Shape: Leading(n)}.Len() }

// Inputs returns the nodes that n is computed from, in the order of its operator's inputs; none for a leaf.
func Inputs(n *gorgonia.Node) gorgonia.Nodes {
	var in gorgonia.Nodes
	for it := n.Graph().From(n.ID()); it.Next(); {
		in = append(in, it.Node().(*gorgonia.Node))
	}
	return in
}
