package main

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Every preset is one that a run can have.
func TestPresets(t *testing.T) {
	for _, p := range presets {
		s := p.settings()
		if err := s.validate(); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		if p.warmup >= p.iters {
			t.Errorf("%s: a warm-up of %d in %d steps", p.name, p.warmup, p.iters)
		}
	}
	if _, err := presetSettings("huge"); err == nil {
		t.Error("an unknown size is no error")
	}
}

// The layers, the lower values of which are those of the table of presets.
func TestResolve(t *testing.T) {
	file := layer{place: "f.json", values: map[string]string{"n-embd": "96", "seed": "5", "time": "90s", "epochs": "2"}}
	flags := layer{values: map[string]string{"size": "nano", "seed": "-7", "bias": "false"}}
	s := must[settings](t)(resolve(defaultSize, file, flags))
	if s.Model.NLayer != 2 || s.Model.NEmbd != 96 || s.Train.Seed != -7 || s.Train.Time != 90*time.Second || s.Model.Bias || s.Train.Epochs != 2 {
		t.Errorf("%+v", s)
	}
	flags.values["max-iters"] = "9"
	if s = must[settings](t)(resolve(defaultSize, file, flags)); s.Train.MaxIters != 9 || s.Train.Epochs != 0 {
		t.Errorf("--max-iters above epochs of a file: %+v", s.Train)
	}
	for _, wrong := range []map[string]string{
		{"seed": "x"}, {"seed": "1.5"}, {"bias": "perhaps"}, {"dropout": "Inf"}, {"time": "3"}, {"n-embd": "-4"}, {"nothing": "1"},
		{"size": "huge"}, {"epochs": "1", "max-iters": "1"},
	} {
		if _, err := resolve(defaultSize, layer{values: wrong}); !errors.As(err, new(usageError)) {
			t.Errorf("%v: error %v, want a usage error", wrong, err)
		}
	}
}

// Settings survive as texts, which checkpoints keep, and as JSON, which files keep.
func TestSettingsRoundTrip(t *testing.T) {
	want := presets[2].settings()
	want.Train.Time, want.Train.Seed, want.Train.LearningRate = 90*time.Second, -3, 1.0/3
	want.Train.OutDir, want.Model.Bias = "a \"b\" é", false
	var got settings
	for name, text := range want.texts() {
		if err := got.set(name, text); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("as texts: -want +got:\n%s", diff)
	}
	file := must[[]byte](t)(want.file())
	if !json.Valid(file) {
		t.Fatalf("%s", file)
	}
	values := must[map[string]string](t)(parseConfig(file))
	got = settings{}
	if err := got.apply(layer{values: values}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("as JSON: -want +got:\n%s", diff)
	}
	if names := settingNames(); len(values) != len(names) || slices.Contains(names, "") {
		t.Errorf("%d values of the settings %q", len(values), names)
	}
}

// A limit is doubled until it is more than what was trained, however far a long step went beyond it.
func TestMoreTime(t *testing.T) {
	for _, c := range []struct {
		limit   time.Duration
		seconds float64
		want    time.Duration
	}{{3 * time.Minute, 180.2, 6 * time.Minute}, {time.Second, 2, 4 * time.Second}, {time.Second, 30, 32 * time.Second}, {time.Second, 0, 2 * time.Second},
		{1, 1e300, 1 << 62}} {
		if got := moreTime(c.limit, c.seconds); got != c.want {
			t.Errorf("%v after %v s: %v, want %v", c.limit, c.seconds, got, c.want)
		}
	}
}

// 1,000 tokens are 10 steps of 100.
func TestConvertEpochs(t *testing.T) {
	for _, c := range []struct {
		epochs float64
		want   int
	}{{1, 10}, {0.5, 5}, {0.01, 1}, {1.01, 11}, {0, 77}, {1e300, 1<<31 - 1}} {
		var s settings
		s.Batch.BatchSize, s.Train.GradAccum, s.Model.BlockSize, s.Train.MaxIters, s.Train.Epochs = 5, 2, 10, 77, c.epochs
		if s.convertEpochs(1000); s.Train.MaxIters != c.want || s.Train.Epochs != 0 {
			t.Errorf("%v epochs: %d steps and %v epochs, want %d steps", c.epochs, s.Train.MaxIters, s.Train.Epochs, c.want)
		}
	}
}
