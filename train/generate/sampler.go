package generate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// sampler draws tokens from logits, in float64.
type sampler struct {
	opts  Options
	rng   *rand.Rand
	probs []float64   // (V)
	kept  []candidate // that TopK and TopP leave, the likeliest first
}

// newSampler returns the sampler of one text: its random numbers are those of (seed, sample).
func newSampler(o Options) *sampler {
	return &sampler{opts: o, rng: rand.New(rand.NewPCG(uint64(o.Seed), uint64(o.Sample)))}
}

// draw returns the id of the next token, given the logits (V), which must be finite.
func (s *sampler) draw(logits []float64) (int32, error) {
	for id, x := range logits {
		if x-x != 0 { // NaN, or infinite
			return 0, fmt.Errorf("the model's logit of token %d is %v: its weights are damaged, or the training that made them diverged", id, x)
		}
	}
	if s.opts.greedy() {
		return int32(argMax(logits)), nil
	}
	return int32(pick(s.probabilities(logits), s.rng.Float64())), nil
}

// pick returns the first index up to which probs sum to more than u, which is in [0, 1). It is never one of
// probability 0, even if rounding leaves the sum of all below u.
func pick(probs []float64, u float64) int {
	sum, last := 0.0, 0
	for id, p := range probs {
		if p == 0 {
			continue
		}
		if sum, last = sum+p, id; u < sum {
			break
		}
	}
	return last
}

// argMax returns the index of the largest element, the lowest one among equals.
func argMax(x []float64) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// probabilities returns what draw draws from, (V): the softmax of logits divided by the temperature, cut
// down to the TopK likeliest, then to the fewest that reach TopP of what is left, scaled to sum to 1. The
// result is valid until the next call.
func (s *sampler) probabilities(logits []float64) []float64 {
	s.probs = slices.Grow(s.probs[:0], len(logits))[:len(logits)]
	highest := logits[argMax(logits)]
	for id, x := range logits {
		s.probs[id] = math.Exp((x - highest) / s.opts.Temperature)
	}
	s.cut(logits)
	total := sum(s.probs)
	for id := range s.probs {
		s.probs[id] /= total
	}
	return s.probs
}

func sum(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total
}

// cut clears the weights, in s.probs, of the ids that TopK and TopP leave out.
func (s *sampler) cut(logits []float64) {
	byK, byP := s.opts.TopK > 0 && s.opts.TopK < len(logits), s.opts.TopP > 0 && s.opts.TopP < 1
	if !byK && !byP {
		return
	}
	total := sum(s.probs) // of which TopP is to be reached
	if byK {
		s.likeliest(logits, s.opts.TopK, 0)
		total = 0
		for _, c := range s.kept {
			total += c.weight
		}
	} else { // All that weigh less than this have together less than 1-TopP: the others reach TopP.
		s.likeliest(logits, len(logits), (1-s.opts.TopP)*total/float64(len(logits)))
	}
	if byP {
		s.kept = s.kept[:reach(s.kept, s.opts.TopP*total)]
	}
	clear(s.probs)
	for _, c := range s.kept {
		s.probs[c.id] = c.weight
	}
}

// candidate is a token that may be drawn.
type candidate struct {
	id            int
	logit, weight float64
}

// likeliest sets s.kept to the first n ids, the likeliest first and the lower id first among equals, without those
// that weigh less than least. It sorts now and then what is above the n-th so far, and so seldom much.
func (s *sampler) likeliest(logits []float64, n int, least float64) {
	s.kept = s.kept[:0]
	bar := math.Inf(-1) // the logit of the n-th so far
	for id, x := range logits {
		if x <= bar || s.probs[id] < least {
			continue
		}
		if s.kept = append(s.kept, candidate{id, x, s.probs[id]}); len(s.kept) >= 2*n {
			s.sort()
			s.kept = s.kept[:n]
			bar = s.kept[n-1].logit
		}
	}
	s.sort()
	s.kept = s.kept[:min(n, len(s.kept))]
}

func (s *sampler) sort() {
	slices.SortFunc(s.kept, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.logit, a.logit), cmp.Compare(a.id, b.id))
	})
}

// reach returns how many of the first candidates have together at least that weight.
func reach(kept []candidate, weight float64) int {
	sum := 0.0
	for i, c := range kept {
		if sum += c.weight; sum >= weight {
			return i + 1
		}
	}
	return len(kept)
}
