package data

import (
	"fmt"
	"unicode/utf8"
)

// EndOfTextLiteral is how the end-of-text token is written in a tokenizer's files. Encode never
// gives it special treatment: a text that holds these 13 characters is encoded as 13 characters.
const EndOfTextLiteral = "<|endoftext|>"

// Tokenizer turns text into token ids and back. Ids are 0 to VocabSize()-1; the last one is the
// end-of-text token, which no text encodes to. Decode(Encode(x)) equals x byte for byte, or
// Encode returns an error.
type Tokenizer interface {
	// Kind is the name used by the command's --tokenizer flag: "byte" or "char".
	Kind() string
	// VocabSize is V, the number of ids, end-of-text included.
	VocabSize() int
	// EndOfText is the id of the end-of-text token, VocabSize()-1.
	EndOfText() int
	// Encode returns the ids of a text, or a *NotUTF8Error or *UnknownCharError.
	Encode(text []byte) ([]int32, error)
	// Decode returns the bytes of ids, or an *IDError. End-of-text tokens stand for no bytes.
	Decode(ids []int32) ([]byte, error)
	// TokenBytes returns the bytes of one token: nil for end-of-text and for an id out of range.
	// The caller must not change them.
	TokenBytes(id int32) []byte
}

// NotUTF8Error says that a text for a character tokenizer is not UTF-8.
type NotUTF8Error struct {
	Offset int  // of the first byte that starts no valid character
	Byte   byte // its value
}

func (e *NotUTF8Error) Error() string {
	return fmt.Sprintf("not UTF-8 at byte %s (0x%02X); use --tokenizer byte, or convert it",
		Thousands(e.Offset), e.Byte)
}

// UnknownCharError says that a text holds a character that the vocabulary lacks.
type UnknownCharError struct {
	Char     rune
	Position int // characters before it
	Offset   int // bytes before it
}

func (e *UnknownCharError) Error() string {
	return fmt.Sprintf("character %q (U+%04X) at position %s is not in the vocabulary; leave it out, or train with --tokenizer byte",
		e.Char, e.Char, Thousands(e.Position))
}

// IDError says that a token id is outside a vocabulary.
type IDError struct {
	ID        int32
	Position  int // index among the ids being decoded
	VocabSize int
}

func (e *IDError) Error() string {
	return fmt.Sprintf("token id %d at position %s is outside the vocabulary of %s tokens",
		e.ID, Thousands(e.Position), Thousands(e.VocabSize))
}

// checkUTF8 returns a *NotUTF8Error for the first byte of text that starts no valid character.
func checkUTF8(text []byte) error {
	if utf8.Valid(text) {
		return nil
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return &NotUTF8Error{Offset: i, Byte: text[i]}
		}
		i += size
	}
	return nil
}

// decode joins the bytes of ids; it is Decode of every tokenizer.
func decode(t Tokenizer, ids []int32) ([]byte, error) {
	text := make([]byte, 0, len(ids))
	for i, id := range ids {
		if id < 0 || int(id) >= t.VocabSize() {
			return nil, &IDError{ID: id, Position: i, VocabSize: t.VocabSize()}
		}
		text = append(text, t.TokenBytes(id)...)
	}
	return text, nil
}

// ByteTokenizer has one token per byte value (id = byte) and end-of-text, 256. It takes any text.
type ByteTokenizer struct{}

// NewByte returns the byte tokenizer.
func NewByte() ByteTokenizer { return ByteTokenizer{} }

// Kind returns "byte".
func (ByteTokenizer) Kind() string { return "byte" }

// VocabSize returns 257.
func (ByteTokenizer) VocabSize() int { return 257 }

// EndOfText returns 256.
func (ByteTokenizer) EndOfText() int { return 256 }

// Encode returns one id for each byte; the error is always nil.
func (ByteTokenizer) Encode(text []byte) ([]int32, error) {
	ids := make([]int32, len(text))
	for i, b := range text {
		ids[i] = int32(b)
	}
	return ids, nil
}

// Decode returns one byte for each id below 256.
func (t ByteTokenizer) Decode(ids []int32) ([]byte, error) { return decode(t, ids) }

// TokenBytes returns the byte of id.
func (ByteTokenizer) TokenBytes(id int32) []byte {
	if id < 0 || id > 255 {
		return nil
	}
	return allBytes[id : id+1 : id+1]
}

// allBytes holds every byte value in order, so that TokenBytes need not allocate.
var allBytes = func() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}()
