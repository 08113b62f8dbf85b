package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
)

// ReLU is max(x, 0); its gradient at 0 is 0. Any shape.
func ReLU(x *gorgonia.Node) (*gorgonia.Node, error) { return activation(x, device.ReLU) }

// GELU is x/2*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3))), the form GPT-2 was trained with
// (Hendrycks and Gimpel 2016, section 2). Any shape.
func GELU(x *gorgonia.Node) (*gorgonia.Node, error) { return activation(x, device.GELUTanh) }

// GELUExact is x/2*(1+erf(x/sqrt(2))). Any shape.
func GELUExact(x *gorgonia.Node) (*gorgonia.Node, error) { return activation(x, device.GELUExact) }

func activation(x *gorgonia.Node, k device.ActivationKind) (*gorgonia.Node, error) {
	if _, err := float(x); err != nil {
		return nil, fmt.Errorf("activation: %w", err)
	}
	return apply(rule{
		kernel: device.Activation{Kind: k},
		out:    []device.Spec{like(x)},
		diff:   1,
		grad: func(in gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := apply(rule{kernel: device.ActivationGrad{Kind: k}, out: []device.Spec{like(in[0])}}, dy, in[0])
			return gorgonia.Nodes{dx}, err
		},
	}, x)
}
