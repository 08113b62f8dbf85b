package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"tinylm/train/generate"
)

// TestTurns has three texts arise at once, the last one first.
func TestTurns(t *testing.T) {
	var out strings.Builder
	turns := &turns{w: &out}
	var texts []*turn
	for _, prompt := range []string{"A", "", "C"} {
		texts = append(texts, turns.add(prompt))
	}
	for _, step := range []struct {
		text int
		add  string // "" ends the text
		want string
	}{
		{2, "3", "A"}, {2, "", "A"}, {0, "1", "A1"}, {1, "2", "A1"}, {0, "0", "A10"}, {0, "", "A10\n---\n2"},
		{1, "5", "A10\n---\n25"}, {1, "", "A10\n---\n25\n---\nC3\n"},
	} {
		if step.add == "" {
			if err := texts[step.text].end(); err != nil {
				t.Fatal(err)
			}
		} else if n, err := io.WriteString(texts[step.text], step.add); n != len(step.add) || err != nil {
			t.Fatalf("%d bytes of %q written, %v", n, step.add, err)
		}
		if out.String() != step.want {
			t.Fatalf("after %+v: %q", step, out.String())
		}
	}

	closed, w := io.Pipe()
	closed.Close()
	turns.w = w
	if _, err := io.WriteString(turns.add("D"), "4"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("written to a closed pipe: %v", err)
	}
}

// More samples than any memory holds are made a group at a time, in their order.
func TestRequests(t *testing.T) {
	c := &generateCmd{Prompts: []string{"A", "B"}, NumSamples: 1 << 62}
	samples := 0
	for group := range c.requests(&turns{w: io.Discard}, generate.Options{}, 8) {
		for _, q := range group {
			if q.Prompt != "A" || q.Options.Sample != samples {
				t.Fatalf("request %d is sample %d of %q", samples, q.Options.Sample, q.Prompt)
			}
			samples++
			if err := q.Done(); err != nil {
				t.Fatal(err)
			}
		}
		if len(group) != 8 || samples > 100 {
			break
		}
	}
	if samples != 104 {
		t.Errorf("stopped after %d samples, want 13 groups of 8", samples)
	}

	// A group may hold samples of two prompts, and the last one is smaller.
	c.NumSamples = 5
	var got strings.Builder
	for group := range c.requests(&turns{w: io.Discard}, generate.Options{}, 4) {
		for _, q := range group {
			got.WriteString(q.Prompt)
		}
		got.WriteString(" ")
	}
	if want := "AAAA ABBB BB "; got.String() != want {
		t.Errorf("groups %q, want %q", got.String(), want)
	}
}
