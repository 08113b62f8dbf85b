package data

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// roundTrip fails unless text comes back from tok unchanged.
func roundTrip(t rapid.TB, tok Tokenizer, text []byte) {
	t.Helper()
	ids, err := tok.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id < 0 || int(id) >= tok.EndOfText() {
			t.Fatalf("id %d of %d", id, tok.VocabSize())
		}
	}
	back, err := tok.Decode(ids)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(back) != sha256.Sum256(text) {
		t.Fatalf("%s: %q came back as %q", tok.Kind(), text, back)
	}
}

// Byte order marks, CR, NUL, joiners and combining marks are kept (failures of other programs).
func TestRoundTripFiles(t *testing.T) {
	for _, name := range []string{"t_bom.txt", "t_cr.txt", "t_mixed_nl.txt", "t_nul.txt", "t_emoji.txt"} {
		text := read(t, name)
		roundTrip(t, NewByte(), text)
		tok, err := NewChar(text)
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, tok, text)
	}
	for _, name := range []string{"t_latin1.txt", "t_surrogate.txt", "t_utf16.txt"} {
		roundTrip(t, NewByte(), read(t, name))
	}
}

func TestNotUTF8(t *testing.T) {
	latin, err := NewChar([]byte("caf\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file string
		want NotUTF8Error
	}{
		{"t_latin1.txt", NotUTF8Error{Offset: 3, Byte: 0xE9}},
		{"t_surrogate.txt", NotUTF8Error{Offset: 2, Byte: 0xED}},
		{"t_utf16.txt", NotUTF8Error{Offset: 0, Byte: 0xFF}},
	} {
		text := read(t, test.file)
		_, newErr := NewChar(text)
		_, encodeErr := latin.Encode(text)
		for _, err := range []error{newErr, encodeErr} {
			var got *NotUTF8Error
			if !errors.As(err, &got) || *got != test.want {
				t.Errorf("%s: got %v, want %v", test.file, err, &test.want)
			}
		}
	}
	line := (&NotUTF8Error{Offset: 10482, Byte: 0xE9}).Error()
	if want := "not UTF-8 at byte 10,482 (0xE9); use --tokenizer byte, or convert it"; line != want {
		t.Errorf("got %q, want %q", line, want)
	}
}

func TestUnknownChar(t *testing.T) {
	tok, err := NewChar([]byte("abcdefghijklmnopqrstuvwxyz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		prompt string
		want   UnknownCharError
	}{
		{"Hello", UnknownCharError{Char: 'H'}},
		{"a\u00e9b", UnknownCharError{Char: 0xE9, Position: 1, Offset: 1}},
		{"ab\u00ff", UnknownCharError{Char: 0xFF, Position: 2, Offset: 2}},
	} {
		_, err := tok.Encode([]byte(test.prompt))
		var got *UnknownCharError
		if !errors.As(err, &got) || *got != test.want {
			t.Errorf("%q: got %v, want %v", test.prompt, err, &test.want)
		}
		roundTrip(t, NewByte(), []byte(test.prompt))
	}
	line := (&UnknownCharError{Char: 'é', Position: 1234, Offset: 2000}).Error()
	if want := "character 'é' (U+00E9) at position 1,234 is not in the vocabulary; leave it out, or train with --tokenizer byte"; line != want {
		t.Errorf("got %q, want %q", line, want)
	}
	// The position counts characters, the offset bytes.
	tok, _ = NewChar([]byte("é中"))
	_, err = tok.Encode([]byte("é中x"))
	var got *UnknownCharError
	if !errors.As(err, &got) || got.Position != 2 || got.Offset != 5 {
		t.Errorf("got %v", err)
	}
}

func TestCharIDs(t *testing.T) {
	tok, err := NewChar([]byte("b中a😀\nab"))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode([]byte("\nab中😀"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{0, 1, 2, 3, 4}, ids); diff != "" {
		t.Error(diff)
	}
	if tok.VocabSize() != 6 || tok.EndOfText() != 5 {
		t.Errorf("vocabulary of %d, end of text %d", tok.VocabSize(), tok.EndOfText())
	}
	if _, err := NewChar(nil); err == nil {
		t.Error("a vocabulary of an empty text")
	}
}

func TestDecode(t *testing.T) {
	char, err := NewChar([]byte("ab"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tok Tokenizer
		ids []int32
		bad int32
	}{
		{NewByte(), []int32{97, 256, 98}, 257},
		{char, []int32{0, 2, 1}, 3},
	} {
		text, err := test.tok.Decode(test.ids)
		if err != nil || string(text) != "ab" {
			t.Errorf("%s: got %q, %v", test.tok.Kind(), text, err)
		}
		for _, id := range []int32{test.bad, -1} {
			_, err := test.tok.Decode([]int32{0, id})
			var got *IDError
			if !errors.As(err, &got) || *got != (IDError{ID: id, Position: 1, VocabSize: test.tok.VocabSize()}) {
				t.Errorf("%s, id %d: got %v", test.tok.Kind(), id, err)
			} else if want := fmt.Sprintf("token id %d at position 1 is outside the vocabulary of %d tokens", id, test.bad); err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
			if test.tok.TokenBytes(id) != nil {
				t.Errorf("%s, id %d has bytes", test.tok.Kind(), id)
			}
		}
	}
}

func TestRoundTripAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roundTrip(t, NewByte(), rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		text := []byte(rapid.StringN(1, -1, -1).Draw(t, "text"))
		text = bytes.ToValidUTF8(text, []byte("?"))
		tok, err := NewChar(text)
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, tok, text)
	})
}
