package layers

import "gorgonia.org/gorgonia"

// Block is a transformer block in pre-norm form: x + dropout(attention(norm1(x))), then
// x + dropout(feedforward(norm2(x))). The mask decides what it is: causal, a decoder's; otherwise an encoder's.
type Block struct {
	Norm1       *LayerNorm          // ln_1
	Attention   *MultiHeadAttention // attn
	Norm2       *LayerNorm          // ln_2
	FeedForward *FeedForward        // mlp
	Dropout     Dropout             // of both residual branches
}

// NewBlock declares NAME.ln_1, NAME.attn, NAME.ln_2 and NAME.mlp. Of the configuration it does not use
// Context, Vocab and Untied; Layers scales the first values of the residual projections.
func NewBlock(p *Parameters, name string, c Config) (*Block, error) {
	c = c.WithDefaults()
	b := &Block{Dropout: Dropout{P: c.Dropout}}
	var err error
	if b.Norm1, err = NewLayerNorm(p, name+".ln_1", c.Width, c.Epsilon); err != nil {
		return nil, err
	}
	if b.Attention, err = NewMultiHeadAttention(p, name+".attn", c); err != nil {
		return nil, err
	}
	if b.Norm2, err = NewLayerNorm(p, name+".ln_2", c.Width, c.Epsilon); err != nil {
		return nil, err
	}
	b.FeedForward, err = NewFeedForward(p, name+".mlp", c)
	return b, err
}

// Forward maps x (B, T, C) to the same shape.
func (b *Block) Forward(s *Scope, x *gorgonia.Node, mask Mask) (*gorgonia.Node, error) {
	h, err := b.Norm1.Forward(s, x) // (B, T, C)
	if err != nil {
		return nil, err
	}
	if h, err = b.Attention.Forward(s, h, mask); err != nil { // (B, T, C)
		return nil, err
	}
	if x, err = b.add(s, x, h); err != nil { // (B, T, C)
		return nil, err
	}
	if h, err = b.Norm2.Forward(s, x); err != nil { // (B, T, C)
		return nil, err
	}
	if h, err = b.FeedForward.Forward(s, h); err != nil { // (B, T, C)
		return nil, err
	}
	return b.add(s, x, h) // (B, T, C)
}

// add is x + dropout(branch).
func (b *Block) add(s *Scope, x, branch *gorgonia.Node) (*gorgonia.Node, error) {
	branch, err := b.Dropout.Forward(s, branch)
	if err != nil {
		return nil, err
	}
	return s.ops().add(x, branch) // (B, T, C)
}
