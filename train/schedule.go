package train

import "math"

// Schedule is the learning rate of a step counted from 0: a linear rise from Max/(Warmup+1) at step 0
// that reaches Max at step Warmup, then half a cosine down to Min at step Decay, and Min from there on.
type Schedule struct {
	Max, Min      float64
	Warmup, Decay int // in steps
}

// Rate returns the learning rate of a step.
func (s Schedule) Rate(step int) float64 {
	switch {
	case step < s.Warmup:
		return s.Max * float64(step+1) / float64(s.Warmup+1)
	case step >= s.Decay:
		return s.Min
	}
	progress := float64(step-s.Warmup) / float64(s.Decay-s.Warmup)
	return s.Min + (s.Max-s.Min)*0.5*(1+math.Cos(math.Pi*progress))
}
