package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
)

// logs returns the logits of a distribution.
func logs(probs ...float64) []float64 {
	x := make([]float64, len(probs))
	for i, p := range probs {
		x[i] = math.Log(p)
	}
	return x
}

func TestProbabilities(t *testing.T) {
	for _, c := range []struct {
		opts   Options
		logits []float64
		want   []float64
	}{
		{Options{Temperature: 2}, []float64{1, 2, 3}, []float64{0.186323723, 0.307195886, 0.506480391}},
		{Options{Temperature: 0.5}, []float64{1, 2, 3}, []float64{0.01587624, 0.117310428, 0.866813332}},
		{Options{Temperature: 1}, []float64{1000, 1001, 1002}, []float64{0.0900305732, 0.2447284711, 0.6652409558}},
		{Options{Temperature: 1e300}, []float64{-5, 0, 7, 1}, []float64{0.25, 0.25, 0.25, 0.25}},

		{Options{Temperature: 1, TopK: 2}, []float64{1, 2, 3, 4}, []float64{0, 0, 0.268941421, 0.731058579}},
		{Options{Temperature: 1, TopK: 2}, []float64{4, 1, 3, 2}, []float64{0.731058579, 0, 0.268941421, 0}},
		{Options{Temperature: 1, TopK: 1}, []float64{1, 3, 3, 2}, []float64{0, 1, 0, 0}},
		{Options{Temperature: 1, TopK: 2}, []float64{0, 0, 0, 0}, []float64{0.5, 0.5, 0, 0}},

		{Options{Temperature: 1, TopP: 0.6}, logs(0.1, 0.5, 0.15, 0.25), []float64{0, 2. / 3, 0, 1. / 3}},
		{Options{Temperature: 1, TopP: 0.4}, logs(0.1, 0.5, 0.15, 0.25), []float64{0, 1, 0, 0}},
		{Options{Temperature: 1, TopP: 0.8}, logs(0.1, 0.5, 0.15, 0.25), []float64{0, 5. / 9, 1. / 6, 5. / 18}},
		{Options{Temperature: 1, TopP: 1e-9}, logs(0.1, 0.5, 0.15, 0.25), []float64{0, 1, 0, 0}},
		{Options{Temperature: 1, TopP: 1}, logs(0.1, 0.5, 0.15, 0.25), []float64{0.1, 0.5, 0.15, 0.25}},
		{Options{Temperature: 1, TopP: 0.5}, []float64{0, 0, 0, 0}, []float64{0.5, 0.5, 0, 0}}, // reached exactly
		{Options{Temperature: 1, TopP: 0.51}, []float64{0, 0, 0, 0}, []float64{1. / 3, 1. / 3, 1. / 3, 0}},

		// Top-p acts on what top-k left: 0.75 of 0.9 reaches 0.8, but 0.75 of 1 would not.
		{Options{Temperature: 1, TopK: 3, TopP: 0.8}, logs(0.1, 0.5, 0.15, 0.25), []float64{0, 2. / 3, 0, 1. / 3}},
		// Top-p acts after the temperature: 0.64 of 0.84 at 0.5, where 0.8 of 1.4 would not reach 0.76.
		{Options{Temperature: 0.5, TopP: 0.76}, logs(0.2, 0.4, 0.8), []float64{0, 0, 1}},
		{Options{Temperature: 0.5, TopP: 0.77}, logs(0.2, 0.4, 0.8), []float64{0, 0.2, 0.8}},
	} {
		got := newSampler(c.opts).probabilities(c.logits)
		for i := range c.want {
			if len(got) != len(c.want) || math.Abs(got[i]-c.want[i]) > 1e-9 || (got[i] == 0) != (c.want[i] == 0) {
				t.Errorf("%+v of %v: %v, want %v", c.opts, c.logits, got, c.want)
				break
			}
		}
	}
}

// TestProbabilitiesSorted compares with sorting all of a large vocabulary with many ties.
func TestProbabilitiesSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for n := range 300 {
		logits := make([]float64, 1+r.IntN(500))
		for i := range logits {
			logits[i] = math.Round(r.NormFloat64()*10) / (1 + 9*r.Float64())
			if n%2 == 0 {
				logits[i] = math.Round(logits[i])
			}
		}
		o := Options{Temperature: 0.3 + 2*r.Float64(), TopK: []int{0, 1 + r.IntN(len(logits)), 3}[n%3], TopP: []float64{0, r.Float64()}[n/3%2]}
		order := make([]int, len(logits))
		for i := range order {
			order[i] = i
		}
		sort.SliceStable(order, func(i, j int) bool { return logits[order[i]] > logits[order[j]] })
		if o.TopK > 0 {
			order = order[:min(o.TopK, len(order))]
		}
		weight := func(id int) float64 { return math.Exp((logits[id] - logits[order[0]]) / o.Temperature) }
		all, want := 0.0, make([]float64, len(logits))
		for _, id := range order {
			all += weight(id)
		}
		kept := 0.0
		for _, id := range order {
			if o.TopP > 0 && kept >= o.TopP*all {
				break
			}
			want[id] = weight(id)
			kept += want[id]
		}
		got := newSampler(o).probabilities(logits)
		for id := range want {
			if math.Abs(got[id]-want[id]/kept) > 1e-12 || (got[id] == 0) != (want[id] == 0) {
				t.Fatalf("%+v of %d logits: probability %v of token %d, want %v", o, len(logits), got[id], id, want[id]/kept)
			}
		}
	}
}

func TestDrawGreedy(t *testing.T) {
	for _, temperature := range []float64{0, 1e-40, 1e-8} {
		s := newSampler(Options{Temperature: temperature})
		for _, c := range []struct {
			logits []float64
			want   int32
		}{
			{[]float64{1, 2, 3}, 2},
			{[]float64{2, 7, 7, 7}, 1},
			{[]float64{-3, -3}, 0},
			{[]float64{1, 1 + 1e-7, 1}, 1},
		} {
			for range 20 {
				if got, err := s.draw(c.logits); err != nil || got != c.want {
					t.Errorf("temperature %v, logits %v: %d, %v; want %d", temperature, c.logits, got, err, c.want)
				}
			}
		}
	}
}

// TestDrawFrequencies draws along one sample, and once from each of many samples and seeds: both must follow
// the distribution, within 5 standard deviations.
func TestDrawFrequencies(t *testing.T) {
	const n = 20000
	probs := []float64{0.1, 0.4, 0.05, 0.25, 0.2}
	along := newSampler(Options{Temperature: 1, Seed: 5})
	for name, sampler := range map[string]func(i int) *sampler{
		"one sample":   func(int) *sampler { return along },
		"many samples": func(i int) *sampler { return newSampler(Options{Temperature: 1, Seed: -3, Sample: i}) },
		"many seeds":   func(i int) *sampler { return newSampler(Options{Temperature: 1, Seed: int64(i)}) },
	} {
		count := make([]float64, len(probs))
		for i := range n {
			id, err := sampler(i).draw(logs(probs...))
			if err != nil {
				t.Fatal(err)
			}
			count[id]++
		}
		for id, p := range probs {
			if off := math.Abs(count[id]-n*p) / math.Sqrt(n*p*(1-p)); off > 5 {
				t.Errorf("%s: token %d of probability %v came %v times in %d", name, id, p, count[id], n)
			}
		}
	}
}

func TestPick(t *testing.T) {
	probs := []float64{0, 0.25, 0, 0.5, 0.125, 0} // as if rounding had lost an eighth
	for u, want := range map[float64]int{0: 1, 0.2: 1, 0.25: 3, 0.7: 3, 0.75: 4, 0.8: 4, 0.875: 4, 0.99: 4} {
		if got := pick(probs, u); got != want {
			t.Errorf("u = %v: %d, want %d", u, got, want)
		}
	}
}

func TestDrawRemoved(t *testing.T) {
	s := newSampler(Options{Temperature: 3, TopK: 2})
	seen := map[int32]bool{}
	for range 1000 {
		id, err := s.draw([]float64{1, 4, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		seen[id] = true
	}
	if fmt.Sprint(seen) != "map[1:true 3:true]" {
		t.Errorf("drew %v, want tokens 1 and 3", seen)
	}
}

func TestDrawNonFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, temperature := range []float64{0, 1} {
			_, err := newSampler(Options{Temperature: temperature}).draw([]float64{0, bad, 1})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("token 1 is %v", bad)) {
				t.Errorf("logit %v at temperature %v: error %v", bad, temperature, err)
			}
		}
	}
}
