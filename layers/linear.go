package layers

import "gorgonia.org/gorgonia"

// Linear is y = x·weight + bias over the last axis. weight is (in, out), GPT-2's layout.
type Linear struct {
	Name string
	Bias bool
}

// NewLinear declares NAME.weight (in, out) and, with bias, NAME.bias (out), which starts at zero.
func NewLinear(p *Parameters, name string, in, out int, bias bool, weight Initial) (*Linear, error) {
	list := []Parameter{{Name: "weight", Shape: []int{in, out}, Initial: weight}}
	if bias {
		list = append(list, Parameter{Name: "bias", Shape: []int{out}})
	}
	if err := p.declare(name, list...); err != nil {
		return nil, err
	}
	return &Linear{Name: name, Bias: bias}, nil
}

// Forward maps x (N..., in) to (N..., out).
func (l *Linear) Forward(s *Scope, x *gorgonia.Node) (*gorgonia.Node, error) {
	w, err := s.Param(l.Name + ".weight") // (in, out)
	if err != nil {
		return nil, err
	}
	var b *gorgonia.Node
	if l.Bias {
		if b, err = s.Param(l.Name + ".bias"); err != nil { // (out)
			return nil, err
		}
	}
	y, err := s.ops().linear(x, w, b) // (N..., out)
	return named(l.Name, y, err)
}
