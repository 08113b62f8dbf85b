package layers

import "fmt"

// Config describes a GPT. The zero value of an optional field means the default given beside it.
type Config struct {
	Layers  int // number of blocks
	Heads   int // attention heads; Width must be divisible by it
	Width   int // C, channels
	Context int // T, longest window in tokens (block size)
	Vocab   int // V, vocabulary size

	Inner      int        // width of the feed-forward layer; 0 = 4*Width
	Activation Activation // "" = gelu_tanh
	NoBias     bool       // projections without bias; layer norms keep theirs
	Untied     bool       // an output matrix of its own; default: the token embedding's
	Dropout    float64    // of embeddings, attention weights and residuals, in [0, 1)
	Epsilon    float64    // of the layer norms; 0 = 1e-5
	Init       Init       // "" = gpt2
}

// Activation names the function inside the feed-forward layer.
type Activation string

// The activations, by the names that the command and configuration files use.
const (
	GELUTanh  Activation = "gelu_tanh"  // GPT-2's form, the default
	GELUExact Activation = "gelu_exact" // with erf
	ReLU      Activation = "relu"
)

// Init names a rule for the first values of the weights.
type Init string

// The initialisations.
const (
	InitGPT2  Init = "gpt2"   // normal, deviation 0.02; residual projections divided by sqrt(2*Layers)
	InitFanIn Init = "fan_in" // normal, deviation 1/sqrt(inputs of the matrix)
)

// WithDefaults returns c with every optional field set.
func (c Config) WithDefaults() Config {
	if c.Inner == 0 {
		c.Inner = 4 * c.Width
	}
	if c.Activation == "" {
		c.Activation = GELUTanh
	}
	if c.Epsilon == 0 {
		c.Epsilon = 1e-5
	}
	if c.Init == "" {
		c.Init = InitGPT2
	}
	return c
}

// maxWidth keeps sizes that follow from the width within an int.
const maxWidth = 1 << 40

// Validate reports the first field that no model can have, naming it by its flag and its value.
func (c Config) Validate() error {
	if c.Width > maxWidth {
		return fmt.Errorf("--n-embd must be at most %d, got %d", maxWidth, c.Width)
	}
	c = c.WithDefaults()
	for _, f := range []struct {
		flag  string
		value int
	}{
		{"n-layer", c.Layers}, {"n-head", c.Heads}, {"n-embd", c.Width}, {"block-size", c.Context},
		{"n-inner", c.Inner},
	} {
		if f.value < 1 {
			return fmt.Errorf("--%s must be at least 1, got %d", f.flag, f.value)
		}
	}
	switch {
	case c.Vocab < 2:
		return fmt.Errorf("a vocabulary needs at least 2 tokens, got %d", c.Vocab)
	case c.Width%c.Heads != 0:
		return fmt.Errorf("--n-embd %d is not divisible by --n-head %d", c.Width, c.Heads)
	case !(c.Dropout >= 0 && c.Dropout < 1):
		return fmt.Errorf("--dropout must be in [0, 1), got %v", c.Dropout)
	case !(c.Epsilon > 0):
		return fmt.Errorf("the layer norm's epsilon must be positive, got %v", c.Epsilon)
	}
	switch c.Activation {
	case GELUTanh, GELUExact, ReLU:
	default:
		return fmt.Errorf("--activation %q is not one of gelu_tanh, gelu_exact, relu", c.Activation)
	}
	if c.Init != InitGPT2 && c.Init != InitFanIn {
		return fmt.Errorf("init %q is not one of gpt2, fan_in", c.Init)
	}
	return nil
}
