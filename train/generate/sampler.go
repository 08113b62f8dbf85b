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
	probs []float64 // (V)
	order []int     // ids, the likeliest first
}

// newSampler returns the sampler of one text: its random numbers are those of (seed, sample).
func newSampler(o Options) *sampler {
	return &sampler{opts: o, rng: rand.New(rand.NewPCG(uint64(o.Seed), uint64(o.Sample)))}
}

// draw returns the id of the next token, given the logits (V), which must be finite.
func (s *sampler) draw(logits []float64) (int32, error) {
	for id, x := range logits {
		if math.IsNaN(x) || math.IsInf(x, 0) {
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
	for _, id := range s.removed(logits) {
		s.probs[id] = 0
	}
	total := 0.0
	for _, w := range s.probs {
		total += w
	}
	for id := range s.probs {
		s.probs[id] /= total
	}
	return s.probs
}

// removed returns the ids that TopK and TopP leave out, given the weights of all in s.probs.
func (s *sampler) removed(logits []float64) []int {
	byK, byP := s.opts.TopK > 0 && s.opts.TopK < len(logits), s.opts.TopP > 0 && s.opts.TopP < 1
	if !byK && !byP {
		return nil
	}
	s.order = slices.Grow(s.order[:0], len(logits))[:len(logits)]
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortFunc(s.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b))
	})
	keep := len(logits)
	if byK {
		keep = s.opts.TopK
	}
	if byP {
		keep = s.reach(s.order[:keep])
	}
	return s.order[keep:]
}

// reach returns how many of ids, the likeliest first, have together at least TopP of the weight of all of them.
func (s *sampler) reach(ids []int) int {
	total := 0.0
	for _, id := range ids {
		total += s.probs[id]
	}
	sum := 0.0
	for i, id := range ids {
		if sum += s.probs[id]; sum >= s.opts.TopP*total {
			return i + 1
		}
	}
	return len(ids)
}
