package generate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestWriteTexts writes texts of several prompts and options at once, more than are written in one go, and
// compares each with the text that its request gives alone.
func TestWriteTexts(t *testing.T) {
	m := New(random(t, 16, 9), letters(t, 7)) // end-of-text comes up now and then
	prompts := []string{"abc", "", "abcabcabcabcabcabc", "g", "abc"}
	texts := make([]pieces, 70)
	var requests []Request
	var done []int
	for i := range texts {
		o := Options{MaxNewTokens: 1 + i, Temperature: 1, Seed: int64(i % 3), Sample: i % 4}
		if i%5 == 0 {
			o.Stop = []string{"ab", "c"}
		}
		requests = append(requests, Request{
			Prompt: prompts[i%len(prompts)], Options: o, W: &texts[i],
			Done: func() error {
				done = append(done, i)
				return nil
			},
		})
	}
	results, err := m.WriteTexts(context.Background(), requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range requests {
		var alone pieces
		want, err := m.WriteText(context.Background(), &alone, q.Prompt, q.Options)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(texts[i], alone) || results[i] != want {
			t.Errorf("text %d: %q, %+v; alone %q, %+v", i, texts[i], results[i], alone, want)
		}
	}
	for i := range texts {
		if n := len(slices.DeleteFunc(slices.Clone(done), func(j int) bool { return i != j })); n != 1 {
			t.Errorf("the end of text %d was told %d times", i, n)
		}
	}
	if m.AtOnce() != 8 || slices.Max(done[:8]) != 7 {
		t.Errorf("%d texts at once, ended in the order %v; want the first 8 before the others", m.AtOnce(), done)
	}
	if none, err := m.WriteTexts(context.Background(), nil); len(none) != 0 || err != nil {
		t.Errorf("no requests: %v, %v", none, err)
	}
}

func TestWriteTextsErrors(t *testing.T) {
	m := New(constant(t, 0, 1, 0, 0), letters(t, 2))
	o := Options{MaxNewTokens: 5}
	var first pieces
	_, err := m.WriteTexts(context.Background(), []Request{{Prompt: "a", Options: o, W: &first}, {Prompt: "?", Options: o, W: &first}})
	if err == nil || !strings.Contains(err.Error(), "prompt: ") || len(first) > 0 {
		t.Errorf("a bad prompt among two: %v after %q; want an error before anything is written", err, first)
	}

	_, err = m.WriteTexts(context.Background(), []Request{{Prompt: "a", Options: o, W: &first}, {Prompt: "b", Options: o, W: fullDisk{}}})
	if !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}

	failure := errors.New("enough")
	_, err = m.WriteTexts(context.Background(), []Request{{Prompt: "a", Options: o, W: &first, Done: func() error { return failure }}})
	if !errors.Is(err, failure) {
		t.Errorf("an error of Done: %v", err)
	}

	var one, other pieces
	ctx := &expiring{context.Background(), 2}
	held := Options{MaxNewTokens: 9, Stop: []string{strings.Repeat("a", 9)}}
	results, err := m.WriteTexts(ctx, []Request{
		{Prompt: "a", Options: o, W: &one, Done: func() error { return failure }}, {Prompt: "b", Options: held, W: &other},
	})
	if !errors.Is(err, context.Canceled) || strings.Join(one, "") != "aa" || strings.Join(other, "") != "aa" || results[1].NewTokens != 2 {
		t.Errorf("cancelled after 2 tokens: %q and %q, %+v, %v", one, other, results, err)
	}
}

// TestAtOnce: as many texts as have caches of a gibibyte, from 1 to 8.
func TestAtOnce(t *testing.T) {
	gpt := *constant(t, 0, 0)
	for _, c := range []struct{ layers, width, context, want int }{
		{12, 768, 1024, 8}, {24, 1024, 2048, 2}, // 75,497,472 and 402,653,184 bytes each
		{48, 8192, 8192, 1},
	} {
		gpt.Config.Layers, gpt.Config.Width, gpt.Config.Context = c.layers, c.width, c.context
		if got := (&Model{GPT: &gpt}).AtOnce(); got != c.want {
			t.Errorf("%+v: %d texts at once", c, got)
		}
	}
}
