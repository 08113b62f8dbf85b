package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"tinylm/data"
)

// corpus is a text to train on or to measure with.
type corpus struct {
	data.Text
	path  string  // as given; "" for the built-in sample
	floor float64 // bits per byte of its validation part that no model can beat; 0 if not known
}

// loadText reads a file; no path gives the built-in sample.
func loadText(path string) (*corpus, error) {
	if path == "" {
		s := data.Sample()
		return &corpus{Text: s.Text, floor: s.ValidationBitsPerByte}, nil
	}
	t, err := data.Load(path)
	if err != nil {
		return nil, err
	}
	return &corpus{Text: t, path: path}, nil
}

// name is what to call the text in a message.
func (t *corpus) name() string {
	if t.path == "" {
		return "the built-in sample"
	}
	return t.path
}

// setting is what a run keeps of the text's place: an absolute path, or "" for the sample.
func (t *corpus) setting() (string, error) {
	if t.path == "" {
		return "", nil
	}
	return filepath.Abs(t.path)
}

// newTokenizer makes the tokenizer of a kind for the text.
func (t *corpus) newTokenizer(kind string) (data.Tokenizer, error) {
	if kind == "byte" {
		return data.NewByte(), nil
	}
	tok, err := data.NewChar(t.Bytes)
	if err != nil {
		return nil, t.error(err)
	}
	return tok, nil
}

// encode returns the tokens of the text.
func (t *corpus) encode(tok data.Tokenizer) ([]int32, error) {
	tokens, err := tok.Encode(t.Bytes)
	return tokens, t.error(err)
}

// error completes an error of package data, which leaves the name of the text to its caller. A text too
// short for the window asked for is a matter of usage.
func (t *corpus) error(err error) error {
	var short *data.ShortError
	var notUTF8 *data.NotUTF8Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &short):
		return usagef("%s %w", t.name(), err)
	case errors.As(err, &notUTF8):
		return fmt.Errorf("%s is %w", t.name(), err)
	}
	return fmt.Errorf("%s: %w", t.name(), err)
}

// tokenBytes is the length of the text that tokens spell.
func tokenBytes(tok data.Tokenizer, tokens []int32) int64 {
	n := 0
	for _, id := range tokens {
		n += len(tok.TokenBytes(id))
	}
	return int64(n)
}
