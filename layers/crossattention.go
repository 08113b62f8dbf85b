package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/graph"
)

// CrossAttention is multi-head attention (Vaswani et al. 2017, section 3.2) with a projection each for
// queries, keys and values, so that the keys may come from another sequence.
type CrossAttention struct {
	Name       string
	Heads      int
	Dropout    float64 // of the attention weights
	Query      *Linear // (C, C), as are the others
	Key        *Linear
	Value      *Linear
	Projection *Linear
}

// NewCrossAttention declares NAME.query, NAME.key, NAME.value and NAME.c_proj. Of the configuration it uses
// Width, Heads, NoBias, Dropout, Init and Layers.
func NewCrossAttention(p *Parameters, name string, c Config) (*CrossAttention, error) {
	if err := checkHeads(name, c); err != nil {
		return nil, err
	}
	m := &CrossAttention{Name: name, Heads: c.Heads, Dropout: c.Dropout}
	for _, l := range []struct {
		layer   **Linear
		name    string
		initial Initial
	}{
		{&m.Query, "query", c.matrix(c.Width)},
		{&m.Key, "key", c.matrix(c.Width)},
		{&m.Value, "value", c.matrix(c.Width)},
		{&m.Projection, "c_proj", c.residual(c.Width)},
	} {
		var err error
		if *l.layer, err = NewLinear(p, name+"."+l.name, c.Width, c.Width, !c.NoBias, l.initial); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Forward attends from query (B, Tq, C) to key (B, Tk, C) and takes from value (B, Tk, C); result
// (B, Tq, C). A nil key means the query, self-attention; a nil value means the key.
func (m *CrossAttention) Forward(s *Scope, query, key, value *gorgonia.Node, mask Mask) (*gorgonia.Node, error) {
	if key == nil {
		key = query
	}
	if value == nil {
		value = key
	}
	q, err := m.split(s, m.Query, query) // (B, H, Tq, D)
	if err != nil {
		return nil, err
	}
	k, err := m.split(s, m.Key, key) // (B, H, Tk, D)
	if err != nil {
		return nil, err
	}
	v, err := m.split(s, m.Value, value) // (B, H, Tk, D)
	if err != nil {
		return nil, err
	}
	drop, err := s.dropout(m.Dropout)
	if err != nil {
		return nil, err
	}
	y, weights, err := s.ops().attentionByHead(q, k, v, graph.AttentionConfig{ // (B, H, Tq, D), (B, H, Tq, Tk)
		Causal: mask.Causal, Mask: mask.Node, Dropout: drop,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	s.seen(weights)
	if y, err = graph.Transpose(y, 0, 2, 1, 3); err != nil { // (B, Tq, H, D)
		return nil, err
	}
	if y, err = graph.Reshape(y, query.Shape()...); err != nil { // (B, Tq, C)
		return nil, err
	}
	return m.Projection.Forward(s, y) // (B, Tq, C)
}

// split projects x (B, T, C) and moves the heads to an axis of their own: (B, H, T, D).
func (m *CrossAttention) split(s *Scope, l *Linear, x *gorgonia.Node) (*gorgonia.Node, error) {
	if x.Dims() != 3 {
		return nil, fmt.Errorf("%s: input %v; want (B, T, C)", l.Name, x.Shape())
	}
	y, err := l.Forward(s, x) // (B, T, C)
	if err != nil {
		return nil, err
	}
	b, t, c := y.Shape()[0], y.Shape()[1], y.Shape()[2]
	if y, err = graph.Reshape(y, b, t, m.Heads, c/m.Heads); err != nil { // (B, T, H, D)
		return nil, err
	}
	return graph.Transpose(y, 0, 2, 1, 3) // (B, H, T, D)
}
