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
// The model sees the last Context tokens of prompt and new tokens together; see Result.Cropped. An empty
// prompt stands for a newline, or for the token of id 0 if the vocabulary has no newline: end-of-text,
// which starts a text in other programs, does not occur in the text that a model learns here.
func (m *Model) Tokens(ctx context.Context, prompt []int32, o Options) iter.Seq2[int32, error] {
	return func(yield func(int32, error) bool) {
		seen, err := m.begin(prompt, o)
		if err != nil {
			yield(0, err)
			return
		}
		s := newSampler(o)
		for range o.MaxNewTokens {
			id, err := m.next(ctx, seen, s)
			if err == nil && int(id) == m.Tokenizer.EndOfText() {
				return
			}
			if !yield(id, err) || err != nil {
				return
			}
			seen = slide(seen, id)
		}
	}
}

// begin checks the input and returns the tokens that the model sees first, with room for as many as it can see.
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
		prompt = []int32{m.start()}
	}
	limit := m.GPT.Config.Context
	return append(make([]int32, 0, limit), prompt[max(0, len(prompt)-limit):]...), nil
}

// start returns the token that stands for an empty prompt.
func (m *Model) start() int32 {
	if ids, err := m.Tokenizer.Encode([]byte("\n")); err == nil && len(ids) == 1 {
		return ids[0]
	}
	return 0
}

func (m *Model) next(ctx context.Context, seen []int32, s *sampler) (int32, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	logits, err := m.logits(seen)
	if err != nil {
		return 0, err
	}
	return s.draw(logits)
}

// slide appends id, after dropping the first token if there is no room.
func slide(seen []int32, id int32) []int32 {
	if len(seen) == cap(seen) {
		seen = seen[:copy(seen, seen[1:])]
	}
	return append(seen, id)
}
