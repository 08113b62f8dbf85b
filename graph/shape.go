package graph

import (
	"slices"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/value"
)

// Helpers on node shapes for the builders.

// dims returns a copy of n's shape.
func dims(n *gorgonia.Node) []int { return slices.Clone([]int(n.Shape())) }

// last returns the length of the last axis.
func last(n *gorgonia.Node) int { return n.Shape()[n.Dims()-1] }

// leading returns the lengths of all axes but the last, with room for one more.
func leading(n *gorgonia.Node) []int {
	return append(make([]int, 0, n.Dims()), n.Shape()[:n.Dims()-1]...)
}

// rows returns N, the number of rows of the last axis.
func rows(n *gorgonia.Node) int { return device.Spec{Shape: leading(n)}.Len() }

// like returns the spec of a node of floating-point type.
func like(n *gorgonia.Node) device.Spec {
	t, _ := value.DTypeOf(n.Dtype()) // checked by the builder that made the node
	return device.Spec{DType: t, Shape: dims(n)}
}

func equal(a, b []int) bool { return slices.Equal(a, b) }

// suffix tells whether s ends in t.
func suffix(s, t []int) bool { return len(t) <= len(s) && equal(s[len(s)-len(t):], t) }
