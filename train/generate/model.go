package generate

import (
	"fmt"
	"sync"

	"gorgonia.org/tensor"

	"tinylm/data"
	"tinylm/graph/machine"
	"tinylm/internal/device"
	"tinylm/layers"
	"tinylm/train/checkpoint"
)

// Model is a language model and its tokenizer. It is safe for concurrent use, as long as nothing changes
// the weights meanwhile.
type Model struct {
	GPT       *layers.GPT
	Tokenizer data.Tokenizer
	Path      string // directory of the checkpoint; "" for a model in memory
	Notice    string // one line if Load read another checkpoint than the one named, which was damaged

	dev  device.Device
	mu   sync.Mutex
	idle *Decoder // of one text, with its graphs; nil while it is in use
}

// New returns a model that shares the weights of gpt, so that it always writes with their present values.
// Its graphs are built when they are first needed; those of a single text are kept. The vocabulary of gpt must be that of tok.
func New(gpt *layers.GPT, tok data.Tokenizer) *Model {
	return newModel(gpt, tok, machine.DefaultDevice())
}

func newModel(gpt *layers.GPT, tok data.Tokenizer, d device.Device) *Model {
	return &Model{GPT: gpt, Tokenizer: tok, dev: d}
}

// Load reads the model of a run directory (its latest checkpoint), of a checkpoint, or of a Hugging Face
// GPT-2 directory, as checkpoint.OpenModel does.
func Load(path string) (*Model, error) {
	c, notice, err := checkpoint.OpenModel(path)
	if err != nil {
		return nil, err
	}
	m, err := FromCheckpoint(c)
	if err != nil {
		return nil, err
	}
	m.Notice = notice
	return m, nil
}

// FromCheckpoint returns the model that c holds; its weights, float32, are a copy.
func FromCheckpoint(c *checkpoint.Checkpoint) (*Model, error) {
	text, ok := c.TokenizerFiles[data.TokenizerFile]
	if !ok {
		return nil, fmt.Errorf("%s has no %s, so its tokens cannot be read as text", c.Path, data.TokenizerFile)
	}
	tok, err := data.LoadTokenizer(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	gpt, err := gptOf(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	m := New(gpt, tok)
	m.Path = c.Path
	if err := m.checkVocabulary(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	return m, nil
}

func gptOf(c *checkpoint.Checkpoint) (*layers.GPT, error) {
	gpt, err := layers.NewGPT(c.Config, tensor.Float32)
	if err != nil {
		return nil, err
	}
	return gpt, c.LoadInto(gpt.Params())
}

func (m *Model) checkVocabulary() error {
	if model, tok := m.GPT.Config.Vocab, m.Tokenizer.VocabSize(); model != tok {
		return fmt.Errorf("the model has a vocabulary of %d tokens, its tokenizer %d", model, tok)
	}
	return nil
}
