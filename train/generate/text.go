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
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	ids, err := m.Tokenizer.Encode([]byte(prompt))
	if err != nil {
		return Result{}, fmt.Errorf("prompt: %w", err)
	}
	r := Result{PromptTokens: len(ids)}
	text := stopper{w: w, stop: o.Stop}
	for id, err := range m.Tokens(ctx, ids, o) {
		if err != nil {
			return r, cmp.Or(err, text.end())
		}
		r.Cropped = max(0, len(ids)+r.NewTokens-m.GPT.Config.Context)
		r.NewTokens++
		if stopped, err := text.add(m.Tokenizer.TokenBytes(id)); stopped || err != nil {
			return r, err
		}
	}
	return r, text.end()
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
