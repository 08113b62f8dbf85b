package generate

import (
	"context"
	"iter"

	"tinylm/data"
)

// Tokens generates the ids that follow prompt, one at a time; of Options it ignores Stop. The sequence ends
// before an end-of-text token, after MaxNewTokens, or with an error: of the options, a *data.IDError for
// the prompt, or ctx.Err().
//
// The model sees the last Context tokens of the prompt. When prompt and new tokens are more than that together,
// its window slides by half of it at a time; see Decoder and Result.Cropped. An empty prompt stands for a
// newline, or for the token of id 0 if the vocabulary has no newline: end-of-text, which starts a text in other
// programs, does not occur in the text that a model learns here.
func (m *Model) Tokens(ctx context.Context, prompt []int32, o Options) iter.Seq2[int32, error] {
	return func(yield func(int32, error) bool) {
		left := false
		err := m.draw(ctx, [][]int32{prompt}, []Options{o}, func(t token) (bool, error) {
			left = !yield(t.id, nil)
			return !left, nil
		}, func(int) error { return nil })
		if err != nil && !left {
			yield(0, err)
		}
	}
}

// token is one that was drawn.
type token struct {
	text int // from 0
	id   int32
	seen int // tokens before it that the model saw
}

// draw draws the tokens of several texts at once, each with its own options and its own random numbers: one run of
// the model gives every text its next token. each takes the tokens as they come and tells whether its text is to
// go on; ended is told of a text that does not.
func (m *Model) draw(ctx context.Context, prompts [][]int32, options []Options,
	each func(token) (more bool, err error), ended func(text int) error) error {
	g, err := m.newGroup(prompts, options)
	if err != nil {
		return err
	}
	defer m.giveBack(g.decoder)
	for g.going() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.run(); err != nil {
			return err
		}
		if err := g.drawNext(each, ended); err != nil {
			return err
		}
	}
	return nil
}

// begin checks the input and returns the prompt, or what stands for an empty one.
func (m *Model) begin(prompt []int32, o Options) ([]int32, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := m.checkVocabulary(); err != nil {
		return nil, err
	}
	for i, id := range prompt {
		if id < 0 || int(id) >= m.GPT.Config.Vocab {
			return nil, &data.IDError{ID: id, Position: i, VocabSize: m.GPT.Config.Vocab}
		}
	}
	if len(prompt) == 0 {
		return []int32{m.start()}, nil
	}
	return prompt, nil
}

// start returns the token that stands for an empty prompt.
func (m *Model) start() int32 {
	if ids, err := m.Tokenizer.Encode([]byte("\n")); err == nil && len(ids) == 1 {
		return ids[0]
	}
	return 0
}

// take returns a decoder of so many texts: the idle one, or a new one.
func (m *Model) take(texts int) (*Decoder, error) {
	m.mu.Lock()
	d := m.idle
	if texts == 1 {
		m.idle = nil
	}
	m.mu.Unlock()
	if texts == 1 && d != nil {
		return d, nil
	}
	return m.NewDecoder(texts)
}

// giveBack keeps a decoder of one text for the next.
func (m *Model) giveBack(d *Decoder) {
	if len(d.texts) == 1 {
		m.mu.Lock()
		m.idle = d
		m.mu.Unlock()
	}
}
