package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"tinylm/layers"
)

// hfConfig holds the keys of a Hugging Face GPT2Config that we write or read. The last two are
// ours: GPT-2 there always has biases (a model without is written with zeros), and starts one way.
type hfConfig struct {
	Architectures []string `json:"architectures"`
	ModelType     string   `json:"model_type"`

	VocabSize   int      `json:"vocab_size"`
	Positions   int      `json:"n_positions"`
	Context     int      `json:"n_ctx"` // older name of n_positions
	Embd        int      `json:"n_embd"`
	Layer       int      `json:"n_layer"`
	Head        int      `json:"n_head"`
	Inner       *int     `json:"n_inner"` // null: 4*n_embd
	Activation  string   `json:"activation_function"`
	ResidDrop   *float64 `json:"resid_pdrop"`
	EmbdDrop    *float64 `json:"embd_pdrop"`
	AttnDrop    *float64 `json:"attn_pdrop"`
	NormEpsilon *float64 `json:"layer_norm_epsilon"`
	InitRange   float64  `json:"initializer_range"`

	ScaleWeights *bool  `json:"scale_attn_weights"`
	ScaleByLayer bool   `json:"scale_attn_by_inverse_layer_idx"`
	Upcast       bool   `json:"reorder_and_upcast_attn"`
	UseCache     bool   `json:"use_cache"`
	Tied         *bool  `json:"tie_word_embeddings"`
	DType        string `json:"torch_dtype"`
	BOS          *int   `json:"bos_token_id"`
	EOS          *int   `json:"eos_token_id"`

	Bias *bool       `json:"bias,omitempty"`
	Init layers.Init `json:"tinylm_init,omitempty"`
}

// activationNames pairs our names with Hugging Face's.
var activationNames = map[layers.Activation]string{
	layers.GELUTanh: "gelu_new", layers.GELUExact: "gelu", layers.ReLU: "relu",
}

// FormatConfig returns config.json as Hugging Face's GPT2Config reads it, for a model c whose
// tokenizer ends a text with the id endOfText.
func FormatConfig(c layers.Config, endOfText int) ([]byte, error) {
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if endOfText < 0 || endOfText >= c.Vocab {
		return nil, fmt.Errorf("end-of-text id %d is outside the vocabulary of %d", endOfText, c.Vocab)
	}
	hf := hfConfig{
		Architectures: []string{"GPT2LMHeadModel"}, ModelType: "gpt2",
		VocabSize: c.Vocab, Positions: c.Context, Context: c.Context,
		Embd: c.Width, Layer: c.Layers, Head: c.Heads,
		Activation: activationNames[c.Activation],
		ResidDrop:  &c.Dropout, EmbdDrop: &c.Dropout, AttnDrop: &c.Dropout,
		NormEpsilon: &c.Epsilon, InitRange: 0.02,
		ScaleWeights: new(true), UseCache: true, Tied: new(!c.Untied), DType: "float32",
		BOS: &endOfText, EOS: &endOfText,
	}
	if c.Inner != 4*c.Width {
		hf.Inner = &c.Inner
	}
	if c.NoBias {
		hf.Bias = new(false)
	}
	if c.Init != layers.InitGPT2 {
		hf.Init = c.Init
	}
	return marshalFile(hf)
}

// ParseConfig reads a config.json. The end-of-text id is -1 if the file names none. Whatever is
// wrong is a *FormatError that names file; keys that we do not know are left alone, as every
// version of the transformers library adds some.
func ParseConfig(data []byte, file string) (c layers.Config, endOfText int, err error) {
	var hf hfConfig
	if err := json.Unmarshal(data, &hf); err != nil {
		return c, 0, formatError(file, "%s", jsonReason(err))
	}
	if err := hf.check(); err != nil {
		return c, 0, formatError(file, "%v", err)
	}
	c = hf.model()
	if err := c.Validate(); err != nil {
		return c, 0, formatError(file, "%v", err)
	}
	endOfText = -1
	if id := firstOf(hf.EOS, hf.BOS); id != nil {
		endOfText = *id
		if endOfText < 0 || endOfText >= c.Vocab {
			return c, 0, formatError(file, "end-of-text id %d is outside the vocabulary of %d", endOfText, c.Vocab)
		}
	}
	return c, endOfText, nil
}

// check reports what no layers.Config can say.
func (hf *hfConfig) check() error {
	if hf.ModelType != "gpt2" {
		return fmt.Errorf("model_type is %q, want \"gpt2\"", hf.ModelType)
	}
	for _, size := range []struct {
		key   string
		value int
	}{
		{"vocab_size", hf.VocabSize}, {"n_positions", max(hf.Positions, hf.Context)}, {"n_embd", hf.Embd},
		{"n_layer", hf.Layer}, {"n_head", hf.Head}, {"n_inner", orDefault(hf.Inner, 4*hf.Embd)},
	} {
		if size.value < 1 || size.value > math.MaxInt32 {
			return fmt.Errorf("%s is %d, want 1 to 2^31-1", size.key, size.value)
		}
	}
	if epsilon := orDefault(hf.NormEpsilon, 1e-5); epsilon <= 0 {
		return fmt.Errorf("layer_norm_epsilon is %v, want more than 0", epsilon)
	}
	if hf.Positions != 0 && hf.Context != 0 && hf.Positions != hf.Context {
		return fmt.Errorf("n_positions is %d but n_ctx %d", hf.Positions, hf.Context)
	}
	resid, embd, attn := orDefault(hf.ResidDrop, 0.1), orDefault(hf.EmbdDrop, 0.1), orDefault(hf.AttnDrop, 0.1)
	if resid != embd || resid != attn {
		return fmt.Errorf("resid_pdrop %v, embd_pdrop %v and attn_pdrop %v differ; this program has one dropout rate", resid, embd, attn)
	}
	if !orDefault(hf.ScaleWeights, true) || hf.ScaleByLayer {
		return fmt.Errorf("attention that is not scaled by 1/sqrt(head size) is not supported")
	}
	return nil
}

// model returns the configuration with all defaults set.
func (hf *hfConfig) model() layers.Config {
	return layers.Config{
		Layers: hf.Layer, Heads: hf.Head, Width: hf.Embd, Vocab: hf.VocabSize,
		Context:    max(hf.Positions, hf.Context),
		Inner:      orDefault(hf.Inner, 0),
		Activation: activationOf(hf.Activation),
		NoBias:     !orDefault(hf.Bias, true),
		Untied:     !orDefault(hf.Tied, true),
		Dropout:    orDefault(hf.ResidDrop, 0.1),
		Epsilon:    orDefault(hf.NormEpsilon, 1e-5),
		Init:       hf.Init,
	}.WithDefaults()
}

// activationOf returns our name of a Hugging Face activation, or the name itself if it has none
// here, for Validate to report.
func activationOf(name string) layers.Activation {
	for ours, theirs := range activationNames {
		if name == theirs {
			return ours
		}
	}
	if name == "gelu_pytorch_tanh" { // the same function as gelu_new
		return layers.GELUTanh
	}
	return layers.Activation(name)
}

// generationConfig returns generation_config.json, which tells readers where a text ends.
func generationConfig(endOfText int) ([]byte, error) {
	return marshalFile(struct {
		FromModel bool `json:"_from_model_config"`
		BOS       int  `json:"bos_token_id"`
		EOS       int  `json:"eos_token_id"`
	}{true, endOfText, endOfText})
}

// marshalFile returns v as an indented JSON file, with "<" and ">" left readable.
func marshalFile(v any) ([]byte, error) {
	var file bytes.Buffer
	enc := json.NewEncoder(&file)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return file.Bytes(), err
}

// orDefault returns *p, or value if p is nil.
func orDefault[T any](p *T, value T) T {
	if p == nil {
		return value
	}
	return *p
}

// firstOf returns the first of two pointers that is not nil.
func firstOf[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
