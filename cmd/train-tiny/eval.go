package main

import (
	"fmt"

	"tinylm/data"
	"tinylm/train"
	"tinylm/train/checkpoint"
	"tinylm/train/generate"
	"tinylm/train/metrics"
)

// evalCmd measures a model's loss on a text.
type evalCmd struct {
	RunDir string `arg:"" name:"run" help:"Directory of a run, of a checkpoint, or of a GPT-2 model of Hugging Face's layout."`
	Text   string `name:"text" placeholder:"FILE" help:"File to measure on, the whole of it, instead of the validation part of the run's text."`
}

const evalBatch = 8 // windows at a time

// Run is called by the parser.
func (c *evalCmd) Run(s *streams) error {
	saved, notice, err := checkpoint.OpenModel(c.RunDir)
	if err != nil {
		return err
	}
	note(s.err, notice)
	m, err := generate.FromCheckpoint(saved)
	if err != nil {
		return err
	}
	name, tokens, err := c.tokens(saved, m)
	if err != nil {
		return err
	}
	e, err := train.Evaluate(m.GPT, tokens, 0, evalBatch)
	if err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	_, err = fmt.Fprintf(s.out, `text           %s
tokens         %s
loss           %.4f nats per token
perplexity     %.6g
bits per byte  %.4f
`, name, data.Thousands(e.Tokens), e.Loss, metrics.Perplexity(e.Loss),
		metrics.BitsPerByte(e.Loss, int64(e.Tokens), tokenBytes(m.Tokenizer, tokens[1:])))
	return err
}

// tokens returns the tokens to measure on, two at least, and what they are.
func (c *evalCmd) tokens(saved *checkpoint.Checkpoint, m *generate.Model) (name string, tokens []int32, err error) {
	if c.Text != "" {
		t, err := loadText(c.Text)
		if err != nil {
			return "", nil, err
		}
		tokens, err = t.encode(m.Tokenizer)
		return c.Text, tokens, err
	}
	if saved.State == nil {
		return "", nil, usagef("%s is no run with a text of its own; name one with --text", c.RunDir)
	}
	if saved.State.Settings["eval-interval"] == "0" {
		return "", nil, usagef("%s was trained on all of its text; name another with --text", c.RunDir)
	}
	t, err := loadText(saved.State.Settings[textSetting])
	if err != nil {
		return "", nil, fmt.Errorf("the text of the run: %w; name another with --text", err)
	}
	if t.SHA256 != saved.State.TextSHA256 {
		return "", nil, fmt.Errorf("%s has changed since the run: SHA-256 was %s, is now %s; name a text with --text",
			t.name(), saved.State.TextSHA256, t.SHA256)
	}
	if tokens, err = t.encode(m.Tokenizer); err != nil {
		return "", nil, err
	}
	_, tokens, err = data.Split(tokens, data.DefaultValidation, m.GPT.Config.Context)
	return "validation part of " + t.name(), tokens, err
}
