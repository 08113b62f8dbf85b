package layers

import "gorgonia.org/gorgonia"

// Dropout drops elements with probability P and divides the others by 1-P, in a training graph
// (Srivastava et al. 2014). In any other graph it is nothing at all. It has no parameters.
type Dropout struct {
	P float64 // in [0, 1)
}

// Forward maps x (B, S...) to the same shape.
func (d Dropout) Forward(s *Scope, x *gorgonia.Node) (*gorgonia.Node, error) {
	c, err := s.dropout(d.P)
	if err != nil || c.P == 0 {
		return x, err
	}
	return s.ops().dropout(x, c) // (B, S...)
}
