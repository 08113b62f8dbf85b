package data

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"
)

// Text is a text to learn from.
type Text struct {
	Name   string // file name without directories
	Bytes  []byte
	SHA256 string // of Bytes, in hexadecimal
}

// NewText returns the text of the given name and bytes.
func NewText(name string, text []byte) Text {
	sum := sha256.Sum256(text)
	return Text{Name: name, Bytes: text, SHA256: hex.EncodeToString(sum[:])}
}

// Load reads the file at path. A file that is missing, a directory, empty or unreadable is an error of one line.
func Load(path string) (Text, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Text{}, fmt.Errorf("cannot read %s: %w", path, cause(err))
	case info.IsDir():
		return Text{}, fmt.Errorf("%s is a directory; name a text file in it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Text{}, fmt.Errorf("cannot read %s: %w", path, cause(err))
	}
	if len(text) == 0 {
		return Text{}, fmt.Errorf("%s is empty", path)
	}
	return NewText(filepath.Base(path), text), nil
}

// cause strips the operation and the path that a *fs.PathError repeats.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Summary is what can be said about a text before training on it.
type Summary struct {
	Bytes       int
	UTF8        bool
	Characters  int     // distinct characters; distinct byte values when not UTF-8
	Lines       int     // parts between newlines; an empty part after the last newline is none
	LongestLine int     // in characters; in bytes when not UTF-8
	Repeated    float64 // share of the non-empty lines that equal an earlier line
}

// Summarize describes a text.
func Summarize(text []byte) Summary {
	s := Summary{Bytes: len(text), UTF8: utf8.Valid(text)}
	length := func(line []byte) int { return len(line) }
	if s.UTF8 {
		s.Characters = len(distinctChars(text))
		length = utf8.RuneCount
	} else {
		var seen [256]bool
		for _, b := range text {
			seen[b] = true
		}
		for _, ok := range seen {
			if ok {
				s.Characters++
			}
		}
	}
	lines := make(map[uint64]struct{}) // by hash: a line of a large text is not worth keeping
	seed := maphash.MakeSeed()
	filled := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		s.Lines++
		s.LongestLine = max(s.LongestLine, length(line))
		if len(line) > 0 {
			filled++
			lines[maphash.Bytes(seed, line)] = struct{}{}
		}
	}
	if filled > 0 {
		s.Repeated = float64(filled-len(lines)) / float64(filled)
	}
	return s
}

// String is one line: "312,480 bytes, UTF-8, 74 characters, longest line 118; 5,904 lines, 3% repeated".
func (s Summary) String() string {
	encoding, symbol := "UTF-8", "character"
	if !s.UTF8 {
		encoding, symbol = "not UTF-8", "byte value"
	}
	return fmt.Sprintf("%s, %s, %s, longest line %s; %s, %.0f%% repeated",
		several(s.Bytes, "byte"), encoding, several(s.Characters, symbol),
		Thousands(s.LongestLine), several(s.Lines, "line"), 100*s.Repeated)
}

// several writes a number of things: "1 line", "5,904 lines".
func several(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Thousands(n) + " " + thing
}

// Thousands writes n with a comma between groups of three digits: 10,482.
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(digits) - 3; i > first; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
