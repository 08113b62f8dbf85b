package layers

import "gorgonia.org/gorgonia"

// Embedding is a table of vectors looked up by id.
type Embedding struct {
	Name string
}

// NewEmbedding declares NAME.weight (rows, width).
func NewEmbedding(p *Parameters, name string, rows, width int, weight Initial) (*Embedding, error) {
	if err := p.Declare(name+".weight", weight, rows, width); err != nil {
		return nil, err
	}
	return &Embedding{Name: name}, nil
}

// Forward maps ids (N...), of an integer type, to vectors (N..., width).
func (e *Embedding) Forward(s *Scope, ids *gorgonia.Node) (*gorgonia.Node, error) {
	table, err := s.Param(e.Name + ".weight") // (rows, width)
	if err != nil {
		return nil, err
	}
	y, err := s.ops().embedding(table, ids) // (N..., width)
	return named(e.Name, y, err)
}

// Scores multiplies x (N..., width) with every vector of the table: (N..., rows). With the token embedding
// it is GPT-2's tied output layer.
func (e *Embedding) Scores(s *Scope, x *gorgonia.Node) (*gorgonia.Node, error) {
	table, err := s.Param(e.Name + ".weight") // (rows, width)
	if err != nil {
		return nil, err
	}
	y, err := s.ops().linearTransposed(x, table) // (N..., rows)
	return named(e.Name, y, err)
}
