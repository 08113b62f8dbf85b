package generate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Result says what came of a generation.
type Result struct {
	PromptTokens int // tokens of the prompt
	NewTokens    int // tokens drawn, end-of-text not counted

	// Cropped is how many tokens, from the start of the prompt on, the model did not see any more when it
	// drew the last token: text and prompt were longer than its context.
	Cropped int
}

// Text returns the text that follows prompt, without the prompt, as WriteText writes it. With an error it
// returns what was written before.
func (m *Model) Text(ctx context.Context, prompt string, o Options) (string, error) {
	var text strings.Builder
	_, err := m.WriteText(ctx, &text, prompt, o)
	return text.String(), err
}

// WriteText writes the text that follows prompt, without the prompt, to w as it arises. No write ends inside
// a character; a last character that MaxNewTokens cut off is left out. Neither the stop string that ended
// the text nor an end-of-text token is written.
//
// What the prompt holds that the vocabulary lacks is a *data.UnknownCharError or *data.NotUTF8Error. See
// Tokens for the end of the text, an empty prompt and a long one.
func (m *Model) WriteText(ctx context.Context, w io.Writer, prompt string, o Options) (Result, error) {
	r, err := m.WriteTexts(ctx, []Request{{Prompt: prompt, Options: o, W: w}})
	return r[0], err
}

// Request is one of several texts to write.
type Request struct {
	Prompt  string
	Options Options
	W       io.Writer
	Done    func() error // called when the text has ended; may be nil
}

// WriteTexts is WriteText for several texts, which arise AtOnce at a time, up to eight: one pass over the weights gives each
// of them its next token. Every text is the one that WriteText writes. The results are those of the requests; with
// an error they tell what was written until then.
func (m *Model) WriteTexts(ctx context.Context, requests []Request) ([]Result, error) {
	results := make([]Result, len(requests))
	prompts := make([][]int32, len(requests))
	for i, q := range requests {
		if err := q.Options.Validate(); err != nil {
			return results, err
		}
		ids, err := m.Tokenizer.Encode([]byte(q.Prompt))
		if err != nil {
			return results, fmt.Errorf("prompt: %w", err)
		}
		prompts[i] = ids
	}
	size := m.AtOnce()
	for from := 0; from < len(requests); from += size {
		to := min(len(requests), from+size)
		if err := m.writeTogether(ctx, requests[from:to], prompts[from:to], results[from:to]); err != nil {
			return results, err
		}
	}
	return results, nil
}

// AtOnce returns how many texts WriteTexts writes at once: as many as share a run, or whose caches take a gibibyte.
func (m *Model) AtOnce() int {
	const memory = 1 << 30
	return int(max(1, min(together, memory/m.GPT.Config.CacheBytes(1))))
}

func (m *Model) writeTogether(ctx context.Context, requests []Request, prompts [][]int32, results []Result) error {
	options, texts := make([]Options, len(requests)), make([]stopper, len(requests))
	for i, q := range requests {
		options[i], texts[i] = q.Options, stopper{w: q.W, stop: q.Options.Stop}
		results[i].PromptTokens = len(prompts[i])
	}
	err := m.draw(ctx, prompts, options, func(t token) (more bool, err error) {
		r := &results[t.text]
		r.Cropped = max(0, r.PromptTokens+r.NewTokens-t.seen)
		r.NewTokens++
		stopped, err := texts[t.text].add(m.Tokenizer.TokenBytes(t.id))
		return !stopped, err
	}, func(text int) error {
		if err := texts[text].end(); err != nil || requests[text].Done == nil {
			return err
		}
		return requests[text].Done()
	})
	for i := range texts { // what they hold back when an error cut them off
		err = cmp.Or(err, texts[i].end())
	}
	return err
}

// stopper writes a text up to the first stop string. It holds back what may be the beginning of one, or
// of a character.
type stopper struct {
	w    io.Writer
	stop []string
	held []byte
}

// add appends the bytes of a token and writes what is certain; stopped says that the text has ended.
func (s *stopper) add(token []byte) (stopped bool, err error) {
	s.held = append(s.held, token...)
	if at := s.find(); at >= 0 {
		s.held = s.held[:at]
		return true, s.end()
	}
	return false, s.write(len(s.held) - s.begun())
}

// end writes what was held back and is whole.
func (s *stopper) end() error { return s.write(len(s.held)) }

// write writes the whole characters among the first n bytes held.
func (s *stopper) write(n int) error {
	if n = whole(s.held[:n]); n == 0 {
		return nil
	}
	_, err := s.w.Write(s.held[:n])
	s.held = append(s.held[:0], s.held[n:]...)
	return err
}

// find returns where the first stop string starts, or -1.
func (s *stopper) find() int {
	first := -1
	for _, stop := range s.stop {
		if at := bytes.Index(s.held, []byte(stop)); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// begun returns the length of the longest end of the bytes held that begins a stop string.
func (s *stopper) begun() int {
	longest := 0
	for _, stop := range s.stop {
		for n := min(len(stop)-1, len(s.held)); n > longest; n-- {
			if bytes.HasSuffix(s.held, []byte(stop[:n])) {
				longest = n
			}
		}
	}
	return longest
}

// whole returns the length of b without the beginning of a character at its end. Bytes that are not UTF-8
// count as whole.
func whole(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}
