package graph

import (
	"slices"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/node"
	"tinylm/internal/value"
)

// Helpers on node shapes for the builders.

// like returns the spec of a node of floating-point type.
func like(n *gorgonia.Node) device.Spec {
	t, _ := value.DTypeOf(n.Dtype()) // checked by the builder that made the node
	return device.Spec{DType: t, Shape: node.Dims(n)}
}

func equal(a, b []int) bool { return slices.Equal(a, b) }

// suffix tells whether s ends in t.
func suffix(s, t []int) bool { return len(t) <= len(s) && equal(s[len(s)-len(t):], t) }
