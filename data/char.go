package data

import (
	"errors"
	"unicode/utf8"
)

// CharTokenizer has one token for each distinct character (Unicode code point) of the text it was
// made from, in code point order, and end-of-text last. Characters are kept as they are: a byte
// order mark, CR, NUL, joiners and combining marks are tokens like any other, and nothing is normalised.
type CharTokenizer struct {
	chars []rune         // id -> character, ascending
	bytes [][]byte       // id -> its UTF-8 form
	ascii [128]int32     // ASCII character -> id, or -1
	other map[rune]int32 // any other character -> id
}

// NewChar returns the tokenizer of the characters of text, which must be UTF-8 (*NotUTF8Error) and not empty.
func NewChar(text []byte) (*CharTokenizer, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return nil, errors.New("an empty text has no characters to make a vocabulary of")
	}
	return newChar(distinctChars(text)), nil
}

// newChar makes a tokenizer of characters in ascending order.
func newChar(chars []rune) *CharTokenizer {
	t := &CharTokenizer{
		chars: chars,
		bytes: make([][]byte, len(chars)),
		other: make(map[rune]int32),
	}
	for i := range t.ascii {
		t.ascii[i] = -1
	}
	for id, c := range chars {
		t.bytes[id] = utf8.AppendRune(nil, c)
		if c < utf8.RuneSelf {
			t.ascii[c] = int32(id)
		} else {
			t.other[c] = int32(id)
		}
	}
	return t
}

// distinctChars returns the distinct characters of a valid UTF-8 text, ascending.
func distinctChars(text []byte) []rune {
	var seen [(utf8.MaxRune + 1 + 63) / 64]uint64
	for i := 0; i < len(text); {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(text[i:])
		}
		seen[c/64] |= 1 << (c % 64)
		i += size
	}
	var chars []rune
	for i, word := range seen {
		for bit := range 64 {
			if word>>bit&1 == 1 {
				chars = append(chars, rune(i*64+bit))
			}
		}
	}
	return chars
}

// Kind returns "char".
func (t *CharTokenizer) Kind() string { return "char" }

// VocabSize returns the number of characters plus one.
func (t *CharTokenizer) VocabSize() int { return len(t.chars) + 1 }

// EndOfText returns the last id, the number of characters.
func (t *CharTokenizer) EndOfText() int { return len(t.chars) }

// Encode returns one id for each character.
func (t *CharTokenizer) Encode(text []byte) ([]int32, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	ids := make([]int32, 0, utf8.RuneCount(text))
	for i := 0; i < len(text); {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(text[i:])
		}
		id, ok := t.id(c)
		if !ok {
			return nil, &UnknownCharError{Char: c, Position: len(ids), Offset: i}
		}
		ids = append(ids, id)
		i += size
	}
	return ids, nil
}

func (t *CharTokenizer) id(c rune) (id int32, ok bool) {
	if c < utf8.RuneSelf {
		id = t.ascii[c]
		return id, id >= 0
	}
	id, ok = t.other[c]
	return id, ok
}

// Decode returns the characters of ids as UTF-8.
func (t *CharTokenizer) Decode(ids []int32) ([]byte, error) { return decode(t, ids) }

// TokenBytes returns the UTF-8 form of the character of id.
func (t *CharTokenizer) TokenBytes(id int32) []byte {
	if id < 0 || int(id) >= len(t.bytes) {
		return nil
	}
	return t.bytes[id]
}
