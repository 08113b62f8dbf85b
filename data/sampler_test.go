package data

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func newSampler(t testing.TB, tokens []int32, block, batch int, seed int64) *Sampler {
	t.Helper()
	s, err := NewSampler(tokens, block, batch, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// starts draws n windows of tokens 0, 1, 2, ... and returns where they start.
func starts(t testing.TB, s *Sampler, n int) []int {
	t.Helper()
	var b Batch
	var all []int
	for len(all) < n {
		s.Next(&b)
		for i := range b.B {
			inputs, targets := b.row(i)
			for j := range inputs {
				if inputs[j] != inputs[0]+int32(j) || targets[j] != inputs[j]+1 {
					t.Fatalf("window %v with targets %v", inputs, targets)
				}
			}
			all = append(all, int(inputs[0]))
		}
	}
	return all
}

// 10 tokens have no window of 32, 33 tokens have one, 8 tokens have the four of 4, and no more.
func TestSamplerWindows(t *testing.T) {
	tokens := func(name string) []int32 {
		ids, err := NewByte().Encode(read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	var short *ShortError
	if _, err := NewSampler(tokens("t_10.txt"), 32, 1, 1); !errors.As(err, &short) || short.Tokens != 10 || short.Block != 32 {
		t.Errorf("10 tokens, block 32: got %v", err)
	}

	text := tokens("t_33.txt")
	for _, batch := range []int{1, 2, 12} {
		s := newSampler(t, text, 32, batch, 7)
		var b Batch
		for range 3 {
			s.Next(&b)
			for i := range batch {
				inputs, targets := b.row(i)
				if !slices.Equal(inputs, text[:32]) || !slices.Equal(targets, text[1:]) {
					t.Fatalf("batch %d: window %v with targets %v", batch, inputs, targets)
				}
			}
		}
	}

	s := newSampler(t, count(len(tokens("t_8.txt"))), 4, 4, 7)
	for range 5 {
		got := starts(t, s, 4)
		slices.Sort(got)
		if diff := cmp.Diff([]int{0, 1, 2, 3}, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Every pass visits each start once; passes and seeds differ in order.
func TestSamplerPasses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 400).Draw(rt, "n")
		block := rapid.IntRange(1, n-1).Draw(rt, "block")
		seed := rapid.Int64().Draw(rt, "seed")
		windows := n - block
		all := starts(t, newSampler(t, count(n), block, 1, seed), 3*windows)
		for pass := range 3 {
			sorted := slices.Sorted(slices.Values(all[pass*windows : (pass+1)*windows]))
			for i, start := range sorted {
				if i != start {
					rt.Fatalf("pass %d of %d windows: sorted starts %v", pass, windows, sorted)
				}
			}
		}
	})
	orders := make(map[string]string)
	for _, seed := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64} {
		s := newSampler(t, count(103), 3, 10, seed)
		for _, pass := range []string{"first", "second"} {
			order, _ := json.Marshal(starts(t, s, 100))
			if other, ok := orders[string(order)]; ok {
				t.Errorf("seed %d, %s pass: order of %s again", seed, pass, other)
			}
			orders[string(order)] = pass
		}
	}
}

// Each start must come at each place of a pass equally often: chi-square over the places, at most
// 5 deviations above its mean (degrees of freedom, variance twice that).
func TestSamplerUniform(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 7, 16, 33} {
		const rounds = 4000
		counts := make([]float64, n*n)
		for seed := range int64(rounds) {
			p := newPermutation(n, seed, seed%3)
			for i := range n {
				counts[i*n+p.at(i)]++
			}
		}
		expected := float64(rounds) / float64(n)
		chi := 0.0
		for _, c := range counts {
			chi += (c - expected) * (c - expected) / expected
		}
		free := float64((n - 1) * (n - 1))
		if chi > free+5*math.Sqrt(2*free) {
			t.Errorf("%d windows: chi-square %.1f for %.0f degrees of freedom", n, chi, free)
		}
	}
}

// A pass must not look like the text: neighbouring draws should be as far apart as independent ones,
// (n+1)/3 on average.
func TestSamplerNeighbours(t *testing.T) {
	const n = 100_000
	p := newPermutation(n, 3, 0)
	sum := 0.0
	for i := 1; i < n; i++ {
		sum += math.Abs(float64(p.at(i) - p.at(i-1)))
	}
	if mean := sum / (n - 1); math.Abs(mean/((n+1)/3.0)-1) > 0.01 {
		t.Errorf("neighbouring draws are %.0f apart, want %.0f", mean, (n+1)/3.0)
	}
}

// The first outputs of SplitMix64 for seed 0, from its authors' code.
func TestMix64(t *testing.T) {
	for i, want := range []uint64{0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F} {
		if got := mix64(0x9E3779B97F4A7C15 * uint64(i+1)); got != want {
			t.Errorf("output %d: got %#x, want %#x", i, got, want)
		}
	}
}

func TestSamplerRestore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(5, 60).Draw(rt, "n")
		batch := rapid.IntRange(1, 100).Draw(rt, "batch")
		s := newSampler(t, count(n), 4, batch, rapid.Int64().Draw(rt, "seed"))
		for range rapid.IntRange(0, 30).Draw(rt, "steps") {
			s.Next(new(Batch))
		}
		saved, err := json.Marshal(s.State())
		if err != nil {
			rt.Fatal(err)
		}
		var state SamplerState
		if err := json.Unmarshal(saved, &state); err != nil {
			rt.Fatal(err)
		}
		resumed := newSampler(t, count(n), 4, batch, 1)
		if err := resumed.Restore(state); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(starts(t, s, 5*batch), starts(t, resumed, 5*batch)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestSamplerRestoreRefuses(t *testing.T) {
	s := newSampler(t, count(20), 4, 3, 5)
	s.Next(new(Batch))
	before := s.State()
	for _, state := range []SamplerState{
		{Windows: 17},
		{},
		{Windows: 16, Position: 16},
		{Windows: 16, Position: -1},
		{Windows: 16, Pass: -1},
	} {
		if err := s.Restore(state); err == nil {
			t.Errorf("%+v was taken", state)
		}
	}
	if s.State() != before {
		t.Errorf("a refused state left %+v", s.State())
	}
	for _, size := range [][2]int{{0, 1}, {1, 0}, {-1, 1}} {
		if _, err := NewSampler(count(9), size[0], size[1], 0); err == nil {
			t.Errorf("block and batch %v were taken", size)
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	s := newSampler(t, count(1000), 32, 8, 1)
	e, err := NewEvalWindows(count(1000), 32, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	s.Next(&b)
	allocs := testing.AllocsPerRun(200, func() {
		s.Next(&b)
		if !e.Next(&b) {
			e.Reset()
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
}
