package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GPT is a causal language model of GPT-2's form (Radford et al. 2019): token and position embeddings,
// pre-norm blocks, a last layer norm, and an output matrix that is the token embedding unless untied.
type GPT struct {
	Config    Config
	Tokens    *Embedding // wte (V, C)
	Positions *Embedding // wpe (Context, C)
	Dropout   Dropout    // of the embeddings
	Blocks    []*Block   // h.0, h.1, ...
	Norm      *LayerNorm // ln_f
	Head      *Embedding // (V, C): Tokens, or lm_head when untied

	// Causal hides later tokens. Without it a model learns to copy its targets, which tests use.
	Causal bool

	params *Parameters
}

// NewGPT returns a model of weights of type tensor.Float32 or tensor.Float64, all zero until Init or
// Parameters.Load. Parameters have the names of Hugging Face's GPT-2.
func NewGPT(c Config, t tensor.Dtype) (*GPT, error) {
	m, err := declareGPT(c, t)
	if err != nil {
		return nil, err
	}
	m.params.layOut()
	return m, nil
}

// declareGPT returns a model whose weights have no memory yet.
func declareGPT(c Config, t tensor.Dtype) (*GPT, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p, err := NewParameters(t)
	if err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	m := &GPT{Config: c, Dropout: Dropout{P: c.Dropout}, Causal: true, params: p}
	if m.Tokens, err = NewEmbedding(p, "transformer.wte", c.Vocab, c.Width, c.matrix(c.Width)); err != nil {
		return nil, err
	}
	if m.Positions, err = NewEmbedding(p, "transformer.wpe", c.Context, c.Width, c.matrix(c.Width)); err != nil {
		return nil, err
	}
	for i := range c.Layers {
		b, err := NewBlock(p, fmt.Sprintf("transformer.h.%d", i), c)
		if err != nil {
			return nil, err
		}
		m.Blocks = append(m.Blocks, b)
	}
	if m.Norm, err = NewLayerNorm(p, "transformer.ln_f", c.Width, c.Epsilon); err != nil {
		return nil, err
	}
	m.Head = m.Tokens
	if c.Untied {
		m.Head, err = NewEmbedding(p, "lm_head", c.Vocab, c.Width, c.matrix(c.Width))
	}
	return m, err
}

// Params returns the weights.
func (m *GPT) Params() *Parameters { return m.params }

// Init sets the first values of the weights by the rule of the configuration. Equal seeds give equal models.
func (m *GPT) Init(seed int64) { m.params.Init(seed) }

// Logits maps ids (B, T) and positions (T), both of an integer type, to scores (B, T, V): row t scores the
// token after position t. T may be shorter than the context.
func (m *GPT) Logits(s *Scope, ids, positions *gorgonia.Node) (*gorgonia.Node, error) {
	if err := m.checkInputs(ids, positions); err != nil {
		return nil, err
	}
	x, err := m.hidden(s, ids, positions) // (B, T, C)
	if err != nil {
		return nil, err
	}
	return m.scores(s, x) // (B, T, V)
}

// hidden maps ids (B, T) and positions (T) or (B, T) to what the last block gives, (B, T, C).
func (m *GPT) hidden(s *Scope, ids, positions *gorgonia.Node) (*gorgonia.Node, error) {
	x, err := m.Tokens.Forward(s, ids) // (B, T, C)
	if err != nil {
		return nil, err
	}
	pos, err := m.Positions.Forward(s, positions) // (T, C) or (B, T, C)
	if err != nil {
		return nil, err
	}
	if x, err = s.ops().add(x, pos); err != nil { // (B, T, C)
		return nil, err
	}
	if x, err = m.Dropout.Forward(s, x); err != nil { // (B, T, C)
		return nil, err
	}
	for _, b := range m.Blocks {
		if x, err = b.Forward(s, x, Mask{Causal: m.Causal}); err != nil { // (B, T, C)
			return nil, err
		}
	}
	return x, nil
}

// scores maps what the last block gives, (N..., C), to (N..., V).
func (m *GPT) scores(s *Scope, x *gorgonia.Node) (*gorgonia.Node, error) {
	x, err := m.Norm.Forward(s, x) // (N..., C)
	if err != nil {
		return nil, err
	}
	return m.Head.Scores(s, x) // (N..., V)
}

func (m *GPT) checkInputs(ids, positions *gorgonia.Node) error {
	if ids.Dims() != 2 || positions.Dims() != 1 || positions.Shape()[0] != ids.Shape()[1] {
		return fmt.Errorf("gpt: ids %v, positions %v; want (B, T), (T)", ids.Shape(), positions.Shape())
	}
	if t := ids.Shape()[1]; t > m.Config.Context {
		return fmt.Errorf("gpt: %d tokens are more than the context of %d", t, m.Config.Context)
	}
	return nil
}

// Loss is the sum of the negative log-likelihoods, in nats, of the targets (B, T) that are not
// graph.IgnoreIndex, and their number; both are scalars of the logits' type.
func (m *GPT) Loss(s *Scope, logits, targets *gorgonia.Node) (loss, count *gorgonia.Node, err error) {
	return s.ops().crossEntropySum(logits, targets)
}
