package generate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"tinylm/data"
	"tinylm/internal/device/cpu"
	"tinylm/layers"
)

// letters returns a char tokenizer: "\n" is 0, then a, b, ...; end-of-text is last.
func letters(t *testing.T, n int) data.Tokenizer {
	t.Helper()
	tok, err := data.NewChar([]byte("\n" + "abcdefghijklmnopqrstuvwxyz"[:n]))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// endless is a tokenizer whose end-of-text does not end a text.
type endless struct{ data.Tokenizer }

func (endless) EndOfText() int { return -1 }

// constant returns a GPT of context 16 whose logits are the given ones after any text: the last layer norm gives
// (1, 0), and row i of the tied embedding is (logits[i], 0).
func constant(t *testing.T, logits ...float32) *layers.GPT {
	t.Helper()
	gpt, err := layers.NewGPT(layers.Config{Layers: 1, Heads: 1, Width: 2, Context: 16, Vocab: len(logits)}, tensor.Float32)
	if err != nil {
		t.Fatal(err)
	}
	embedding, err := layers.Slice[float32](gpt.Params(), "transformer.wte.weight")
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range logits {
		embedding[2*i] = x
	}
	if err := gpt.Params().Load("transformer.ln_f.bias", []int{2}, []float32{1, 0}); err != nil {
		t.Fatal(err)
	}
	return gpt
}

// random returns a GPT with weights large enough that its text depends on its past.
func random(t *testing.T, context, vocab int) *layers.GPT {
	t.Helper()
	gpt, err := layers.NewGPT(layers.Config{Layers: 2, Heads: 2, Width: 16, Context: context, Vocab: vocab}, tensor.Float32)
	if err != nil {
		t.Fatal(err)
	}
	gpt.Init(3)
	for i := range gpt.Params().Flat32()[:gpt.Params().DecayLen()] {
		gpt.Params().Flat32()[i] *= 10
	}
	return gpt
}

func text(t *testing.T, m *Model, prompt string, o Options) string {
	t.Helper()
	s, err := m.Text(context.Background(), prompt, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTextGreedy(t *testing.T) {
	m := New(constant(t, 1, 3, 2, 3, 0), letters(t, 3)) // "\n", a, b, c, end-of-text
	for _, temperature := range []float64{0, 1e-40, 1e-8} {
		if got := text(t, m, "b", Options{MaxNewTokens: 4, Temperature: temperature}); got != "aaaa" {
			t.Errorf("temperature %v: %q, want the lower of the two likeliest", temperature, got)
		}
	}
	if got := text(t, m, "b", Options{MaxNewTokens: 4, Temperature: 2, TopK: 1, Seed: -7}); got != "aaaa" {
		t.Errorf("top-k 1: %q, want aaaa", got)
	}
}

func TestTextSharesWeights(t *testing.T) {
	gpt := constant(t, 0, 1, 0, 0)
	m := New(gpt, letters(t, 2))
	if got := text(t, m, "", Options{MaxNewTokens: 2}); got != "aa" {
		t.Fatalf("%q, want aa", got)
	}
	embedding, err := layers.Slice[float32](gpt.Params(), "transformer.wte.weight")
	if err != nil {
		t.Fatal(err)
	}
	embedding[2*2] = 5
	if got := text(t, m, "", Options{MaxNewTokens: 2}); got != "bb" {
		t.Errorf("%q after a change of the weights, want bb", got)
	}
}

func TestTextTopKBeyondVocabulary(t *testing.T) {
	m := New(constant(t, 0, 0.3, -0.2, 0.1, -99), letters(t, 3)) // V = 5
	o := Options{MaxNewTokens: 50, Temperature: 1, Seed: 4}
	want := text(t, m, "a", o)
	for _, k := range []int{5, 100000} {
		o.TopK = k
		if got := text(t, m, "a", o); got != want {
			t.Errorf("top-k %d: %q, without: %q", k, got, want)
		}
	}
	if len(want) != 50 {
		t.Errorf("%q: %d characters, want 50", want, len(want))
	}
}

func TestTextEndOfText(t *testing.T) {
	if got := text(t, New(constant(t, 0, 1, 2), letters(t, 1)), "a", Options{MaxNewTokens: 9}); got != "" {
		t.Errorf("%q after end-of-text", got)
	}
	// Half of the draws end the text: a sample has n tokens in one of 2^(n+1) cases.
	m := New(constant(t, -99, 0, 0), letters(t, 1))
	short := 0
	for i := range 400 {
		got := text(t, m, "a", Options{MaxNewTokens: 100, Temperature: 1, Sample: i})
		if strings.Trim(got, "a") != "" {
			t.Fatalf("%q holds more than a", got)
		}
		if got == "" {
			short++
		}
	}
	if short < 150 || short > 250 { // 200 +- 5 standard deviations
		t.Errorf("%d of 400 samples are empty, want 200", short)
	}
}

func TestTextStop(t *testing.T) {
	m := New(constant(t, 0, 0, 0, -99), letters(t, 2))
	o := Options{MaxNewTokens: 200, Temperature: 1}
	full := text(t, m, "a", o)
	want, _, found := strings.Cut(full, "ba\n")
	o.Stop = []string{"ba\n", strings.Repeat("b", 150)}
	if got := text(t, m, "a", o); !found || got != want {
		t.Errorf("%q, want %q of %q", got, want, full)
	}
	o.Stop = []string{strings.Repeat("b", 150)}
	if got := text(t, m, "a", o); got != full {
		t.Errorf("%q with a stop string that never comes, without %q", got, full)
	}
}

func TestTextEmptyPrompt(t *testing.T) {
	newline := New(random(t, 16, 9), endless{letters(t, 7)})
	o := Options{MaxNewTokens: 20, Temperature: 1}
	if got, want := text(t, newline, "", o), text(t, newline, "\n", o); got != want {
		t.Errorf("empty prompt gives %q, a newline %q", got, want)
	}
	tok, err := data.NewChar([]byte("xyz"))
	if err != nil {
		t.Fatal(err)
	}
	none := New(random(t, 16, 4), endless{tok})
	if got, want := text(t, none, "", o), text(t, none, "x", o); got != want {
		t.Errorf("empty prompt gives %q, the first character %q", got, want)
	}
}

func TestTextBadPrompt(t *testing.T) {
	m := New(constant(t, 0, 0, 0, 0), letters(t, 2))
	for prompt, want := range map[string]data.UnknownCharError{
		"Hello":    {Char: 'H', Position: 0, Offset: 0},
		"a\u00e9b": {Char: 'é', Position: 1, Offset: 1},
	} {
		got, err := m.Text(context.Background(), prompt, Defaults())
		var unknown *data.UnknownCharError
		if !errors.As(err, &unknown) || *unknown != want || got != "" {
			t.Errorf("prompt %q: %q, %v", prompt, got, err)
		}
	}
	var invalid *data.NotUTF8Error
	if _, err := m.Text(context.Background(), "a\xff", Defaults()); !errors.As(err, &invalid) || invalid.Offset != 1 {
		t.Errorf("prompt not UTF-8: %v", err)
	}
	for _, id := range []int32{-1, 4} {
		for _, err := range m.Tokens(context.Background(), []int32{0, id}, Defaults()) {
			var outside *data.IDError
			if !errors.As(err, &outside) || *outside != (data.IDError{ID: id, Position: 1, VocabSize: 4}) {
				t.Errorf("id %d: %v", id, err)
			}
		}
	}
	if _, err := m.Text(context.Background(), "a", Options{}); err == nil || !strings.Contains(err.Error(), "--max-new-tokens") {
		t.Errorf("no options: %v", err)
	}
	m = New(constant(t, 0, 0, 0), letters(t, 2))
	if _, err := m.Text(context.Background(), "a", Defaults()); err == nil || !strings.Contains(err.Error(), "3 tokens, its tokenizer 4") {
		t.Errorf("other vocabulary: %v", err)
	}
}

func TestTextSeeds(t *testing.T) {
	m := New(random(t, 16, 9), endless{letters(t, 7)})
	seen := map[string]string{}
	for _, seed := range []int64{0, 1, -1, 1 << 40} {
		for sample := range 3 {
			o := Options{MaxNewTokens: 40, Temperature: 1, Seed: seed, Sample: sample}
			got := text(t, m, "abc", o)
			if again := text(t, m, "abc", o); again != got {
				t.Errorf("seed %d, sample %d: %q, then %q", seed, sample, got, again)
			}
			name := fmt.Sprintf("seed %d, sample %d", seed, sample)
			if other, ok := seen[got]; ok {
				t.Errorf("%s and %s both give %q", name, other, got)
			}
			seen[got] = name
		}
	}
}

func TestTextWorkers(t *testing.T) {
	gpt := random(t, 160, 9)
	o := Options{MaxNewTokens: 20, Temperature: 1}
	prompt := strings.Repeat("abcd", 35)
	want := text(t, newModel(gpt, endless{letters(t, 7)}, cpu.New(1)), prompt, o)
	for _, workers := range []int{2, 5} {
		if got := text(t, newModel(gpt, endless{letters(t, 7)}, cpu.New(workers)), prompt, o); got != want {
			t.Errorf("%d workers: %q, one: %q", workers, got, want)
		}
	}
}

// expiring is a context that is cancelled once Err has been asked left times.
type expiring struct {
	context.Context
	left int
}

func (c *expiring) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestTextCancel(t *testing.T) {
	m := New(constant(t, 0, 1, 0, 0), letters(t, 2))
	for name, stop := range map[string][]string{
		"nothing held back":                 nil,
		"all of it may begin a stop string": {strings.Repeat("a", 9)},
	} {
		ctx := &expiring{context.Background(), 3}
		got, err := m.Text(ctx, "b", Options{MaxNewTokens: 20, Stop: stop})
		if got != "aaa" || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %q, %v; want the 3 tokens before the end", name, got, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for id, err := range m.Tokens(ctx, []int32{1}, Defaults()) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("token %d, error %v", id, err)
		}
	}
}

func TestTokensBreak(t *testing.T) {
	m := New(constant(t, 0, 0, 0, -99), letters(t, 2))
	n := 0
	for _, err := range m.Tokens(context.Background(), nil, Defaults()) {
		if n++; err != nil || n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d tokens before the break", n)
	}
}

func TestConcurrent(t *testing.T) {
	shared := New(random(t, 64, 9), endless{letters(t, 7)})
	other := New(random(t, 32, 9), endless{letters(t, 7)})
	o := Options{MaxNewTokens: 30, Temperature: 1}
	jobs := []*Model{shared, other, shared, other}
	want, got := make([]string, len(jobs)), make([]string, len(jobs))
	for i, m := range jobs {
		want[i] = text(t, New(m.GPT, m.Tokenizer), "abc", o)
	}
	var wg sync.WaitGroup
	for i, m := range jobs {
		wg.Go(func() {
			var err error
			if got[i], err = m.Text(context.Background(), "abc", o); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !slices.Equal(got, want) {
		t.Errorf("at once %q, one by one %q", got, want)
	}
}
