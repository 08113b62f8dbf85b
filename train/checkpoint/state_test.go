package checkpoint

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tinylm/data"
)

func sampleState(step int) *State {
	return &State{
		Step: step, Tokens: int64(step) * 768, Epoch: 1.0 / 3, Seconds: 12.34, Seed: -7,
		Sampler:  data.SamplerState{Seed: -7, Windows: 1000, Pass: 2, Position: 345},
		BestStep: step, BestValLoss: 1.2345678901234567, ValLoss: 1.5, EvalsSinceBest: 2,
		TextSHA256: strings.Repeat("0123456789abcdef", 4), TextBytes: math.MaxInt64, MetricsBytes: 4321,
		Settings: map[string]string{"n-embd": "128", "learning-rate": "0.001", "text": "a \"<b>\" ü"},
	}
}

// The layout, by what encoding/json finds in it without our types.
func TestFormatState(t *testing.T) {
	s := sampleState(500)
	s.BestValLoss = math.NaN()
	text, err := FormatState(s)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"version": 1.0, "step": 500.0, "tokens": 384000.0, "epoch": 1.0 / 3, "seconds": 12.34, "seed": -7.0,
		"sampler":   map[string]any{"seed": -7.0, "windows": 1000.0, "pass": 2.0, "position": 345.0},
		"best_step": 500.0, "best_val_loss": nil, "val_loss": 1.5, "evals_since_best": 2.0,
		"text_sha256": s.TextSHA256, "text_bytes": 9223372036854775807.0, "metrics_bytes": 4321.0,
		"settings": map[string]any{"n-embd": "128", "learning-rate": "0.001", "text": "a \"<b>\" ü"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStateRoundTrip(t *testing.T) {
	for _, loss := range []float64{1.2345678901234567, 0, math.NaN()} {
		want := sampleState(500)
		want.BestValLoss, want.ValLoss = loss, loss
		text, err := FormatState(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseState(text, "training.json")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestFormatStateRefuses(t *testing.T) {
	for name, change := range map[string]func(*State){
		"negative step":  func(s *State) { s.Step = -1 },
		"NaN epoch":      func(s *State) { s.Epoch = math.NaN() },
		"endless":        func(s *State) { s.Seconds = math.Inf(1) },
		"best later":     func(s *State) { s.BestStep = 501 },
		"infinite loss":  func(s *State) { s.BestValLoss = math.Inf(1) },
		"no hash":        func(s *State) { s.TextSHA256 = "" },
		"shouted hash":   func(s *State) { s.TextSHA256 = strings.ToUpper(s.TextSHA256) },
		"negative bytes": func(s *State) { s.MetricsBytes = -1 },
	} {
		s := sampleState(500)
		change(s)
		if text, err := FormatState(s); err == nil {
			t.Errorf("%s: written as %s", name, text)
		}
	}
}

func TestParseStateRefuses(t *testing.T) {
	good, err := FormatState(sampleState(500))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"version": 1`, `"version": 2`, "version 2 is not the version 1"},
		{`"version": 1,`, ``, `version "" is not the version 1`},
		{`"version": 1`, `"version": "1"`, `version "1" is not`},
		{`"step": 500`, `"step": 500.5`, `"step" cannot hold a number 500.5`},
		{`"step": 500`, `"step": null`, `"step" is null`},
		{`"step": 500`, `"Step": 500`, `"step" is missing`},
		{`"step": 500,`, `"step": 500, "step": 501,`, `"step" occurs twice`},
		{`"step": 500,`, `"step": 500, "lr": 1,`, `unknown key "lr"`},
		{`"step": 500,`, `"step": 499,`, "best_step 500 is not in 0 to step 499"},
		{`"tokens": 384000`, `"tokens": 99999999999999999999`, `"tokens" cannot hold`},
		{`"n-embd": "128"`, `"n-embd": 128`, "cannot hold a number"},
		{`"epoch": 0.3333333333333333`, `"epoch": -1`, "must be finite and not negative"},
		{"0123456789abcdef\"", "xyz\"", "text_sha256"},
		{"}\n", "} {}\n", "something follows"},
		{"}\n", "", "not a JSON object"},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		if c.old == "}\n" { // the last one
			text = strings.TrimSuffix(string(good), c.old) + c.new
		}
		if text == string(good) {
			t.Fatalf("%s: nothing changed", c.old)
		}
		_, err := ParseState([]byte(text), "dir/training.json")
		var format *FormatError
		if !errors.As(err, &format) || format.File != "dir/training.json" || !strings.Contains(format.Reason, c.want) {
			t.Errorf("%s for %s: error %v, want a *FormatError with %s", c.new, c.old, err, c.want)
		}
	}
}

func TestDifferentSettings(t *testing.T) {
	saved := map[string]string{"n-embd": "128", "max-iters": "100", "dropout": "0", "bias": "true", "prompt": ""}
	now := map[string]string{"n-embd": "256", "max-iters": "200", "dropout": "0", "beta1": "0.9", "prompt": "x"}
	got := DifferentSettings(saved, now, "max-iters")
	want := []string{
		"--beta1 was not set, now 0.9",
		"--bias was true, now not set",
		"--n-embd was 128, now 256",
		`--prompt was "", now x`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := DifferentSettings(saved, saved); got != nil {
		t.Errorf("a run differs from itself: %q", got)
	}
	if got := DifferentSettings(nil, map[string]string{"seed": "1"}); len(got) != 1 {
		t.Errorf("from nothing: %q", got)
	}
}

func FuzzParseState(f *testing.F) {
	text, err := FormatState(sampleState(500))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1,"sampler":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseState(text, "f")
		if err != nil {
			if format := (*FormatError)(nil); !errors.As(err, &format) {
				t.Fatalf("error %T: %v", err, err)
			}
			return
		}
		again, err := FormatState(s)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseState(again, "f"); err != nil || !cmp.Equal(s, back, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()) {
			t.Fatalf("read %+v, written and read %+v, %v", s, back, err)
		}
	})
}
