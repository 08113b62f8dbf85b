package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/graph"
)

// Mask says which keys an attention's queries see. The zero value shows them all.
type Mask struct {
	// Causal shows query i the keys 0..i only.
	Causal bool
	// Node, if not nil, is (Tq, Tk) or (B or 1, H or 1, Tq, Tk): of type bool, true hides a key; of the
	// model's type it is added to the scores. With Causal it acts among keys 0..i.
	Node *gorgonia.Node
}

// MultiHeadAttention is self-attention (Vaswani et al. 2017, section 3.2) with one fused projection for
// queries, keys and values, as in GPT-2.
type MultiHeadAttention struct {
	Name       string
	Heads      int
	Dropout    float64 // of the attention weights
	QKV        *Linear // c_attn, (C, 3C)
	Projection *Linear // c_proj, (C, C)
}

// NewMultiHeadAttention declares NAME.c_attn and NAME.c_proj. Of the configuration it uses Width, Heads,
// NoBias, Dropout, Init and Layers.
func NewMultiHeadAttention(p *Parameters, name string, c Config) (*MultiHeadAttention, error) {
	if err := checkHeads(name, c); err != nil {
		return nil, err
	}
	m := &MultiHeadAttention{Name: name, Heads: c.Heads, Dropout: c.Dropout}
	var err error
	if m.QKV, err = NewLinear(p, name+".c_attn", c.Width, 3*c.Width, !c.NoBias, c.matrix(c.Width)); err != nil {
		return nil, err
	}
	m.Projection, err = NewLinear(p, name+".c_proj", c.Width, c.Width, !c.NoBias, c.residual(c.Width))
	return m, err
}

func checkHeads(name string, c Config) error {
	if c.Heads < 1 || c.Width < 1 || c.Width%c.Heads != 0 {
		return fmt.Errorf("%s: width %d is not divisible by %d heads", name, c.Width, c.Heads)
	}
	return nil
}

// Forward maps x (B, T, C) to the same shape.
func (m *MultiHeadAttention) Forward(s *Scope, x *gorgonia.Node, mask Mask) (*gorgonia.Node, error) {
	qkv, err := m.QKV.Forward(s, x) // (B, T, 3C)
	if err != nil {
		return nil, err
	}
	y, err := m.attend(s, qkv, mask) // (B, T, C)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	return m.Projection.Forward(s, y) // (B, T, C)
}

// attend maps qkv (B, T, 3C) to (B, T, C).
func (m *MultiHeadAttention) attend(s *Scope, qkv *gorgonia.Node, mask Mask) (*gorgonia.Node, error) {
	if s.cache != nil {
		return s.cache.attend(m, qkv, mask)
	}
	drop, err := s.dropout(m.Dropout)
	if err != nil {
		return nil, err
	}
	y, weights, err := s.ops().attention(qkv, graph.AttentionConfig{ // (B, T, C), (B, H, T, T)
		Heads: m.Heads, Causal: mask.Causal, Mask: mask.Node, Dropout: drop,
	})
	if err != nil {
		return nil, err
	}
	s.seen(weights)
	return y, nil
}
