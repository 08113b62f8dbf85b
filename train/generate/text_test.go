package generate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// pieces is a writer that keeps every write apart.
type pieces []string

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, string(b))
	return len(b), nil
}

// feed gives tokens to a stopper and returns what it wrote.
func feed(t interface{ Fatal(...any) }, stop []string, tokens ...string) (written pieces, stopped bool) {
	s := stopper{w: &written, stop: stop}
	for _, token := range tokens {
		var err error
		if stopped, err = s.add([]byte(token)); err != nil {
			t.Fatal(err)
		}
		if stopped {
			return written, true
		}
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	return written, false
}

func TestStopper(t *testing.T) {
	for _, c := range []struct {
		stop    []string
		tokens  []string
		want    []string // writes
		stopped bool
	}{
		{nil, []string{"a", "b"}, []string{"a", "b"}, false},
		{nil, []string{"a", "\xc3", "\xa9", "b"}, []string{"a", "é", "b"}, false},
		{nil, []string{"\xf0", "\x9f\x98", "\x80!"}, []string{"😀!"}, false},
		{nil, []string{"a", "\xf0\x9f"}, []string{"a"}, false},                 // cut off
		{nil, []string{"\xc3", "a", "\xff"}, []string{"\xc3a", "\xff"}, false}, // not UTF-8
		{[]string{"ab"}, []string{"x", "a", "b", "c"}, []string{"x"}, true},
		{[]string{"ab"}, []string{"a", "a", "c"}, []string{"a", "ac"}, false},
		{[]string{"ab"}, []string{"x", "a"}, []string{"x", "a"}, false},
		{[]string{"\n\n", "END"}, []string{"1\n", "EN", "D"}, []string{"1", "\n"}, true},
		{[]string{"cd", "bcx"}, []string{"abcd"}, []string{"ab"}, true},
		{[]string{"aab"}, []string{"a", "a", "a", "b"}, []string{"a"}, true},
		{[]string{"é"}, []string{"x", "\xc3", "\xa8", "\xc3", "\xa9"}, []string{"x", "è"}, true},
	} {
		got, stopped := feed(t, c.stop, c.tokens...)
		if !slices.Equal(got, c.want) || stopped != c.stopped {
			t.Errorf("stop %q, tokens %q: wrote %q, stopped %v; want %q, %v", c.stop, c.tokens, got, stopped, c.want, c.stopped)
		}
	}
}

// TestStopperWhole compares with looking at the whole text after each token.
func TestStopperWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]string{"a", "b", "é", "\xc3", "\xa9", "😀", "\xf0\x9f"})
		word := func(label string, most int) string {
			return strings.Join(rapid.SliceOfN(letters, 1, most).Draw(t, label), "")
		}
		var stop, tokens []string
		for range rapid.IntRange(0, 3).Draw(t, "stops") {
			stop = append(stop, word("stop", 4))
		}
		for range rapid.IntRange(0, 12).Draw(t, "tokens") {
			tokens = append(tokens, word("token", 3))
		}
		want, wantStopped := wholeText(stop, tokens)
		got, stopped := feed(t, stop, tokens...)
		if strings.Join(got, "") != want || stopped != wantStopped {
			t.Fatalf("stop %q, tokens %q: wrote %q, stopped %v; want %q, %v", stop, tokens, got, stopped, want, wantStopped)
		}
		if c := splitCharacter(got); c != "" {
			t.Fatalf("writes %q end inside the character %q", got, c)
		}
	})
}

// splitCharacter returns a character of the joined pieces that lies in more than one of them, or "".
func splitCharacter(p pieces) string {
	var ends []int
	n := 0
	for _, piece := range p {
		n += len(piece)
		ends = append(ends, n)
	}
	for at, r := range strings.Join(p, "") {
		if r == utf8.RuneError { // one byte that is not UTF-8
			continue
		}
		for _, end := range ends {
			if at < end && end < at+utf8.RuneLen(r) {
				return string(r)
			}
		}
	}
	return ""
}

// wholeText is the text of tokens up to a stop string, without the beginning of a character at its end.
func wholeText(stop, tokens []string) (text string, stopped bool) {
	for _, token := range tokens {
		text += token
		end := len(text)
		for _, s := range stop {
			if at := strings.Index(text, s); at >= 0 {
				end, stopped = min(end, at), true
			}
		}
		if text = text[:end]; stopped {
			break
		}
	}
	for _, cut := range []string{"\xf0\x9f\xa9", "\xf0\x9f", "\xc3"} {
		if strings.HasSuffix(text, cut) {
			return strings.TrimSuffix(text, cut), stopped
		}
	}
	return text, stopped
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestStopperWriteError(t *testing.T) {
	s := stopper{w: fullDisk{}}
	if _, err := s.add([]byte("a")); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}
