package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	for _, c := range [][2]string{
		{"n-layr", "n-layer"}, {"nlayer", "n-layer"}, {"n_layer", "n-layer"}, {"n-layers", "n-layer"},
		{"learning-rat", "learning-rate"}, {"learnign-rate", "learning-rate"}, {"sede", "seed"}, {"batchsize", "batch-size"},
		{"gibberish", ""}, {"x", ""}, {"", ""},
	} {
		if got := nearest(c[0], settingNames()); got != c[1] {
			t.Errorf("nearest to %q: %q, want %q", c[0], got, c[1])
		}
	}
}

// Distances counted by hand.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ac", 1}, {"ab", "ba", 1},
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, // optimal string alignment; without its limit it would be 2
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance of %q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("distance of %q and %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestJoinNegative(t *testing.T) {
	got := joinNegative([]string{"a", "--seed", "-5", "--x=1", "-2", "--min-lr", "-.5", "--force", "--quiet", "--", "--seed", "-5"})
	want := []string{"a", "--seed=-5", "--x=1", "-2", "--min-lr=-.5", "--force", "--quiet", "--", "--seed", "-5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"runs/book-2": "runs/book-2", "The old fox": "'The old fox'", "it's": `'it'\''s'`, "": "''", "$HOME": "'$HOME'", "übung.txt": "übung.txt",
	} {
		if got := quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func TestProgramName(t *testing.T) {
	for arg, want := range map[string]string{
		"train-tiny": "train-tiny", "./train-tiny": "./train-tiny", "/my tools/train-tiny": "'/my tools/train-tiny'",
		"/tmp/go-build123/b001/exe/train-tiny": "go run ./cmd/train-tiny",
	} {
		if got := programName(arg); got != want {
			t.Errorf("%q: %s, want %s", arg, got, want)
		}
	}
}

func TestExitStatus(t *testing.T) {
	failure := errors.New("x")
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {failure, 1}, {usagef("x"), 2}, {fmt.Errorf("y: %w", usagef("x")), 2},
		{interruptedError{2}, 130}, {errors.Join(interruptedError{15}, failure), 143},
	} {
		if got := exitStatus(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(errors.Join(errors.New("a"), errors.New("b")).Error()); got != "a; b" {
		t.Errorf("%q", got)
	}
}

// Arguments that are not UTF-8 arrive as they are: file names and prompts may be any bytes.
func TestRawArguments(t *testing.T) {
	var out, errs strings.Builder
	if status := run([]string{"no-such-\xe9.txt"}, &streams{out: &out, err: &errs, program: "train-tiny"}); status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
	if !strings.Contains(errs.String(), "no-such-\xe9.txt") {
		t.Errorf("stderr %q; want the name as given", errs.String())
	}
}
