package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// FeedForward is projection(activation(expansion(x))) (Vaswani et al. 2017, section 3.3).
type FeedForward struct {
	Activation Activation
	Expansion  *Linear // c_fc, (C, I)
	Projection *Linear // c_proj, (I, C)
}

// NewFeedForward declares NAME.c_fc and NAME.c_proj. Of the configuration it uses Width, Inner, Activation,
// NoBias, Init and Layers.
func NewFeedForward(p *Parameters, name string, c Config) (*FeedForward, error) {
	c = c.WithDefaults()
	if _, ok := fusedOperators.activation[c.Activation]; !ok {
		return nil, fmt.Errorf("%s: activation %q is not one of gelu_tanh, gelu_exact, relu", name, c.Activation)
	}
	f := &FeedForward{Activation: c.Activation}
	var err error
	if f.Expansion, err = NewLinear(p, name+".c_fc", c.Width, c.Inner, !c.NoBias, c.matrix(c.Width)); err != nil {
		return nil, err
	}
	f.Projection, err = NewLinear(p, name+".c_proj", c.Inner, c.Width, !c.NoBias, c.residual(c.Inner))
	return f, err
}

// Forward maps x (N..., C) to the same shape.
func (f *FeedForward) Forward(s *Scope, x *gorgonia.Node) (*gorgonia.Node, error) {
	h, err := f.Expansion.Forward(s, x) // (N..., I)
	if err != nil {
		return nil, err
	}
	if h, err = s.ops().activation[f.Activation](h); err != nil { // (N..., I)
		return nil, err
	}
	return f.Projection.Forward(s, h) // (N..., C)
}
