package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/alecthomas/kong"

	"tinylm/data"
	"tinylm/train/generate"
)

// generateCmd writes text with a model.
type generateCmd struct {
	RunDir       string   `arg:"" name:"run" help:"Directory of a run, of a checkpoint, or of a GPT-2 model of Hugging Face's layout."`
	Prompts      []string `name:"prompt" placeholder:"TEXT" sep:"none" help:"Text to go on from; may be given several times."`
	MaxNewTokens int      `name:"max-new-tokens" default:"${max_new_tokens}" help:"Tokens to write."`
	NumSamples   int      `name:"num-samples" default:"1" help:"Texts to write for each prompt; a line of --- stands between them."`
	Temperature  float64  `name:"temperature" default:"${temperature}" help:"Below 1 likely tokens become likelier; 0: always the likeliest."`
	TopK         int      `name:"top-k" help:"Draw from the K likeliest tokens only; 0: from all."`
	TopP         float64  `name:"top-p" help:"Draw from the likeliest tokens of this probability together; 0 or 1: from all."`
	Seed         int64    `name:"seed" default:"${seed}" help:"Of the random numbers."`
	Stop         []string `name:"stop" placeholder:"TEXT" sep:"none" help:"End the text before this string; may be given several times."`
}

// generateDefaults are the defaults in the tags above.
func generateDefaults() kong.Vars {
	o := generate.Defaults()
	return kong.Vars{
		"max_new_tokens": fmt.Sprint(o.MaxNewTokens), "temperature": fmt.Sprint(o.Temperature), "seed": fmt.Sprint(o.Seed),
	}
}

func (c *generateCmd) options() generate.Options {
	return generate.Options{
		MaxNewTokens: c.MaxNewTokens, Temperature: c.Temperature, TopK: c.TopK, TopP: c.TopP, Seed: c.Seed, Stop: c.Stop,
	}
}

// Run is called by the parser.
func (c *generateCmd) Run(s *streams) error {
	o := c.options()
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	if c.NumSamples < 1 {
		return usagef("--num-samples must be at least 1, got %d", c.NumSamples)
	}
	m, err := generate.Load(c.RunDir)
	if err != nil {
		return err
	}
	note(s.err, m.Notice)
	if len(c.Prompts) == 0 {
		c.Prompts = []string{""}
	}
	for _, p := range c.Prompts {
		if err := checkPrompt(m, p, s.err); err != nil {
			return err
		}
	}
	turns := &turns{w: s.out}
	for requests := range c.requests(turns, o, m.AtOnce()) {
		if err := turns.flush(); err != nil { // the first prompt
			return err
		}
		if _, err := m.WriteTexts(context.Background(), requests); err != nil {
			return err
		}
	}
	return nil
}

// requests are the samples of each prompt, in groups of at most size, which arise at once and are written in turn.
// A group is made when it is asked for: there may be more samples than memory holds.
func (c *generateCmd) requests(t *turns, o generate.Options, size int) iter.Seq[[]generate.Request] {
	return func(yield func([]generate.Request) bool) {
		var group []generate.Request
		for _, p := range c.Prompts {
			for o.Sample = range c.NumSamples {
				one := t.add(p)
				group = append(group, generate.Request{Prompt: p, Options: o, W: one, Done: one.end})
				if len(group) == size {
					if !yield(group) {
						return
					}
					group = nil
				}
			}
		}
		if len(group) > 0 {
			yield(group)
		}
	}
}

// turns writes several texts to w one after the other, a line of --- between them. What comes before its turn is
// kept until then.
type turns struct {
	w     io.Writer
	texts []*turn // those not yet written to their ends; the first one's turn it is
	begun bool    // there was a text before
}

// turn is one of the texts.
type turn struct {
	*turns
	held  bytes.Buffer
	ended bool
}

// add returns the writer of one more text, which begins with prompt.
func (t *turns) add(prompt string) *turn {
	one := &turn{turns: t}
	if t.begun {
		one.held.WriteString("---\n")
	}
	t.begun = true
	one.held.WriteString(prompt)
	t.texts = append(t.texts, one)
	return one
}

// end is to be called at the end of the text.
func (t *turn) end() error {
	t.ended = true
	return t.flush()
}

func (t *turn) Write(text []byte) (int, error) {
	n, _ := t.held.Write(text)
	return n, t.flush()
}

// flush writes what there is of the text whose turn it is, and goes on to the next if it has ended.
func (t *turns) flush() error {
	for len(t.texts) > 0 {
		one := t.texts[0]
		if _, err := one.held.WriteTo(t.w); err != nil || !one.ended {
			return err
		}
		t.texts = t.texts[1:]
		if _, err := io.WriteString(t.w, "\n"); err != nil {
			return err
		}
	}
	return nil
}

// checkPrompt refuses what the vocabulary lacks, and says when the prompt is longer than the model sees.
func checkPrompt(m *generate.Model, prompt string, w io.Writer) error {
	ids, err := m.Tokenizer.Encode([]byte(prompt))
	if err != nil {
		return usagef("--prompt: %w", err)
	}
	if limit := m.GPT.Config.Context; len(ids) > limit {
		note(w, fmt.Sprintf("the prompt has %s tokens; the model sees the last %s of them",
			data.Thousands(len(ids)), data.Thousands(limit)))
	}
	return nil
}

// writeText writes prompt and what follows, and ends the line.
func writeText(ctx context.Context, w io.Writer, m *generate.Model, prompt string, o generate.Options) error {
	if _, err := io.WriteString(w, prompt); err != nil {
		return err
	}
	if _, err := m.WriteText(ctx, w, prompt, o); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// note writes a line that is worth knowing; there may be none.
func note(w io.Writer, text string) {
	if text != "" {
		fmt.Fprintf(w, "note: %s\n", text)
	}
}
