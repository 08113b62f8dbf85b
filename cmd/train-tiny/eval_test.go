package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The numbers agree with each other, and with ln V for a model of V tokens that has learned nothing. A
// character of two bytes has half the bits per byte of the same loss.
func TestEvalNumbers(t *testing.T) {
	dir := newRunDir(t)
	wide := filepath.Join(dir, "wide.txt")
	if err := os.WriteFile(wide, []byte(strings.Repeat("éß", 50)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text       string
		vocabulary int // characters and end-of-text
		tokens     int // all but the first
		bytes      float64
	}{{wide, 3, 99, 2}, {filepath.Join(dir, "book.txt"), 16, 3299, 1}} {
		run := filepath.Join(dir, fmt.Sprint(c.vocabulary))
		inProcess(t, c.text, "--config", filepath.Join(dir, "tiny.json"), "--eval-interval", "0", "--learning-rate", "1e-30",
			"--min-lr", "0", "--out-dir", run)
		text := inProcess(t, "eval", run, "--text", c.text)
		var tokens string
		var loss, perplexity, bits float64
		_, after, _ := strings.Cut(text, "\n")
		_, err := fmt.Sscanf(after, "tokens %s\nloss %f nats per token\nperplexity %f\nbits per byte %f\n", &tokens, &loss, &perplexity, &bits)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if strings.ReplaceAll(tokens, ",", "") != fmt.Sprint(c.tokens) {
			t.Errorf("%s tokens, want %d", tokens, c.tokens)
		}
		if want := math.Log(float64(c.vocabulary)); math.Abs(loss-want) > 0.05 {
			t.Errorf("loss %v before any training, want about ln %d = %v", loss, c.vocabulary, want)
		}
		if want := math.Exp(loss); math.Abs(perplexity-want) > 1e-4*want {
			t.Errorf("perplexity %v of loss %v, want %v", perplexity, loss, want)
		}
		if want := loss / math.Ln2 / c.bytes; math.Abs(bits-want) > 1.5e-4 {
			t.Errorf("%v bits per byte of loss %v and %v bytes a token, want %v", bits, loss, c.bytes, want)
		}
	}
}

// fullDisk is where nothing can be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// A command whose results cannot be written fails, in one line.
func TestResultsCannotBeWritten(t *testing.T) {
	dir := newRunDir(t)
	run1 := trained(t, dir, "run")
	for _, args := range [][]string{
		{"eval", run1}, {"inspect", run1}, {"generate", run1, "--max-new-tokens", "3"}, {"version"}, {"--print-config"},
		{filepath.Join(dir, "book.txt"), "--config", filepath.Join(dir, "tiny.json"), "--out-dir", filepath.Join(dir, "other"), "--quiet"},
	} {
		var stderr strings.Builder
		if status := run(args, &streams{out: fullDisk{}, err: &stderr}); status != 1 || stderr.String() != "train-tiny: the disk is full\n" {
			t.Errorf("%q: exit status %d, stderr %q", args, status, stderr.String())
		}
	}
}
