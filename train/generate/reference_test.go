package generate

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tinylm/data"
	"tinylm/train/checkpoint"
)

// reference returns the tiny GPT-2 of testdata, context 16, vocabulary 65, with 64 characters for its tokens.
func reference(t *testing.T) *Model {
	t.Helper()
	c, _, err := checkpoint.OpenModel(filepath.Join("testdata", "gpt2"))
	if err != nil {
		t.Fatal(err)
	}
	chars := []rune{'\n'}
	for c := '!'; len(chars) < 64; c++ {
		chars = append(chars, c)
	}
	tok, err := data.NewChar([]byte(string(chars)))
	if err != nil {
		t.Fatal(err)
	}
	gpt, err := gptOf(c)
	if err != nil {
		t.Fatal(err)
	}
	return New(gpt, tok)
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "gpt2", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

// TestReferenceLogits compares with PyTorch's logits (3, 16, 65) of three windows, token by token.
func TestReferenceLogits(t *testing.T) {
	var expected struct {
		Logits struct{ Data []float64 }
		Steps  []struct{ IDs [][]int32 }
	}
	readJSON(t, "expected.json", &expected)
	m := reference(t)
	d, err := m.NewDecoder(1)
	if err != nil {
		t.Fatal(err)
	}
	largest := 0.0
	for _, x := range expected.Logits.Data {
		largest = max(largest, math.Abs(x))
	}
	for b, ids := range expected.Steps[0].IDs {
		for n := 1; n <= len(ids); n++ {
			want := expected.Logits.Data[(b*16+n-1)*65:][:65]
			if n == 1 {
				err = d.Fill(0, ids[:1])
			} else {
				err = d.Next([]int{0}, ids[n-1:n])
			}
			if err != nil {
				t.Fatal(err)
			}
			got := d.Logits(0)
			for id := range want {
				if off := math.Abs(got[id]-want[id]) / largest; !(off <= 2e-5) {
					t.Fatalf("window %d, %d tokens: logit %d is %v, want %v", b, n, id, got[id], want[id])
				}
			}
			next := firstToken(t, m, ids[:n])
			if next != int32(argMax(want)) {
				t.Errorf("window %d, %d tokens: the next is %d, want %d", b, n, next, argMax(want))
			}
		}
	}
}

// firstToken returns the most likely token after a prompt; -1 for none, which the arg max is if it ends the text.
func firstToken(t *testing.T, m *Model, prompt []int32) int32 {
	t.Helper()
	for id, err := range m.Tokens(context.Background(), prompt, Options{MaxNewTokens: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	return int32(m.Tokenizer.EndOfText())
}

// TestReferenceGreedy compares 100 tokens after prompts of 1, 15, 16, 17 and 500 tokens with those of PyTorch in
// float64 (testdata/gpt2/greedy.py).
func TestReferenceGreedy(t *testing.T) {
	var cases []struct{ Prompt, New []int32 }
	readJSON(t, "greedy.json", &cases)
	m := reference(t)
	for _, c := range cases {
		var got pieces
		r, err := m.WriteText(context.Background(), &got, decode(t, m, c.Prompt), Options{MaxNewTokens: 100})
		if err != nil {
			t.Fatal(err)
		}
		if want := decode(t, m, c.New); len(got) != 100 || strings.Join(got, "") != want {
			t.Errorf("prompt of %d tokens: wrote %q, want %q", len(c.Prompt), got, want)
		}
		if r != (Result{PromptTokens: len(c.Prompt), NewTokens: 100, Cropped: len(c.Prompt) + 99 - seen(len(c.Prompt), 99)}) {
			t.Errorf("prompt of %d tokens: %+v", len(c.Prompt), r)
		}
		if n := len(c.Prompt) - 16; n > 0 {
			if got := text(t, m, decode(t, m, c.Prompt[n:]), Options{MaxNewTokens: 100}); got != decode(t, m, c.New) {
				t.Errorf("the last 16 of %d tokens: %q, want %q", len(c.Prompt), got, decode(t, m, c.New))
			}
		}
	}
}

// seen returns how many of prompt and new tokens a model of context 16 sees in the end.
func seen(prompt, new int) int {
	n := min(prompt, 16)
	for range new {
		if n++; n > 16 {
			n = 8
		}
	}
	return n
}

func decode(t *testing.T, m *Model, ids []int32) string {
	t.Helper()
	text, err := m.Tokenizer.Decode(ids)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCropped has the last token drawn from exactly the context, from one token more, which slides the window to
// half of it, and so on until it slides again.
func TestCropped(t *testing.T) {
	m := New(constant(t, 0, 1, 0, 0), letters(t, 2))
	for n, want := range map[int]int{1: 0, 12: 0, 13: 9, 20: 9, 21: 9, 22: 18} {
		r, err := m.WriteText(context.Background(), &pieces{}, "aaaaa", Options{MaxNewTokens: n})
		if err != nil || r != (Result{PromptTokens: 5, NewTokens: n, Cropped: want}) {
			t.Errorf("%d tokens after 5, context 16: %+v, %v; want %d cropped", n, r, err, want)
		}
	}
}
