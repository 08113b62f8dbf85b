package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestTurns has three texts arise at once, the last one first.
func TestTurns(t *testing.T) {
	var out strings.Builder
	turns := &turns{w: &out}
	var texts []io.Writer
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
			if err := turns.endOf(step.text)(); err != nil {
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
