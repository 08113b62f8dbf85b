package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
)

// DropoutConfig says how much is dropped and where the random numbers come from. They are counted, not
// drawn: equal (seed, step, site, sample, element) give the same number on every device, for any number
// of workers and any split of a batch into micro-batches.
type DropoutConfig struct {
	P    float64        // probability of an element to be dropped, in [0, 1); 0 = no dropout
	RNG  *gorgonia.Node // seed, step, index of the first sample: see [NewRNG]; may be nil when P is 0
	Site uint32         // tells this dropout from every other one of the graph
}

// NewRNG returns the input node (3), int64, that dropout counts from: the seed, the step, and the
// index in the global batch of this micro-batch's first sample. Bind it with gorgonia.Let.
func NewRNG(g *gorgonia.ExprGraph) *gorgonia.Node {
	return gorgonia.NewTensor(g, tensor.Int64, 1, gorgonia.WithShape(3), gorgonia.WithName("rng"))
}

func (c DropoutConfig) check() error {
	if !(c.P >= 0 && c.P < 1) {
		return fmt.Errorf("dropout: probability %v is not in [0, 1)", c.P)
	}
	if c.P == 0 {
		return nil
	}
	if c.RNG == nil {
		return fmt.Errorf("dropout: probability %v needs an RNG node", c.P)
	}
	if c.RNG.Dtype() != tensor.Int64 || !equal(c.RNG.Shape(), []int{3}) {
		return fmt.Errorf("dropout: RNG is %v %v; want int64 (3)", c.RNG.Dtype(), c.RNG.Shape())
	}
	return nil
}

// Dropout drops elements of x (B, S...) and divides the others by 1-P (Srivastava et al. 2014, inverted
// form). With P = 0 it returns x itself.
func Dropout(x *gorgonia.Node, c DropoutConfig) (*gorgonia.Node, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if _, err := float(x); err != nil {
		return nil, fmt.Errorf("dropout: %w", err)
	}
	if c.P == 0 {
		return x, nil
	}
	if x.Dims() < 1 {
		return nil, fmt.Errorf("dropout: x is a scalar; want (B, ...)")
	}
	return apply(rule{
		kernel: device.Dropout{P: c.P, Site: c.Site},
		out:    []device.Spec{like(x)},
		diff:   1,
		grad: func(_ gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := Dropout(dy, c)
			return gorgonia.Nodes{dx}, err
		},
	}, x, c.RNG)
}

// KeepMask is what Dropout multiplies with: 0 or 1/(1-P), of shape (B, S...) and floating-point type t.
// P must not be 0. It has no gradient.
func KeepMask(c DropoutConfig, t tensor.Dtype, shape ...int) (*gorgonia.Node, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	dt, err := floatType(t)
	if err != nil || len(shape) == 0 || c.P == 0 {
		return nil, fmt.Errorf("keepmask: type %v, shape %v, probability %v; want a float type, (B, ...), above 0", t, shape, c.P)
	}
	return apply(rule{
		kernel: device.KeepMask{P: c.P, Site: c.Site},
		out:    []device.Spec{{DType: dt, Shape: shape}},
	}, c.RNG)
}
