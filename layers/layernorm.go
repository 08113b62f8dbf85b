package layers

import "gorgonia.org/gorgonia"

// LayerNorm normalises each vector and gives it a learned scale and shift (Ba et al. 2016):
// weight*(x-mean)/sqrt(var+epsilon) + bias with the biased variance.
type LayerNorm struct {
	Name    string
	Epsilon float64
}

// NewLayerNorm declares NAME.weight (width), which starts at one, and NAME.bias (width), at zero.
func NewLayerNorm(p *Parameters, name string, width int, epsilon float64) (*LayerNorm, error) {
	err := p.declare(name,
		Parameter{Name: "weight", Shape: []int{width}, Initial: Initial{Mean: 1}},
		Parameter{Name: "bias", Shape: []int{width}})
	if err != nil {
		return nil, err
	}
	return &LayerNorm{Name: name, Epsilon: epsilon}, nil
}

// Forward maps x (N..., width) to the same shape.
func (l *LayerNorm) Forward(s *Scope, x *gorgonia.Node) (*gorgonia.Node, error) {
	w, err := s.paramNodes(l.Name, "weight", "bias") // (width), (width)
	if err != nil {
		return nil, err
	}
	y, err := s.ops().layerNorm(x, w[0], w[1], l.Epsilon) // (N..., width)
	return named(l.Name, y, err)
}
