package train

import (
	"fmt"
	"math"
	"time"
)

// Options are the settings of the optimisation. Zero values are not defaults: start from Defaults.
type Options struct {
	Batch int // windows in a micro-batch
	Accum int // micro-batches in a step; their tokens count as one batch

	MaxIters int           // steps; 0 = none, stop at Time
	Time     time.Duration // stop after the step that passes it; 0 = no limit. The schedule follows MaxIters

	LearningRate float64 // the highest
	MinLR        float64 // the lowest, reached at MaxIters
	Warmup       int     // steps of linear rise to LearningRate

	WeightDecay  float64 // of tensors of rank 2 and more
	Beta1, Beta2 float64
	Epsilon      float64
	Clip         float64 // largest gradient norm; 0 = no clipping

	Seed     int64 // of dropout and sampling; any value
	Composed bool  // build the graphs from primitive nodes
}

// Defaults returns the settings that GPT-2-shaped models of this size are usually trained with.
func Defaults() Options {
	return Options{
		Batch: 12, Accum: 1, MaxIters: 2000,
		LearningRate: 1e-3, MinLR: 1e-4, Warmup: 100,
		WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8, Clip: 1,
		Seed: 1337,
	}
}

// Validate reports the first setting out of range, by the name of its flag.
func (o Options) Validate() error {
	switch {
	case o.Batch < 1:
		return fmt.Errorf("--batch-size must be at least 1, got %d", o.Batch)
	case o.Accum < 1:
		return fmt.Errorf("--grad-accum must be at least 1, got %d", o.Accum)
	case o.MaxIters < 1:
		return fmt.Errorf("--max-iters must be at least 1, got %d", o.MaxIters)
	case o.Time < 0:
		return fmt.Errorf("--time must not be negative, got %v", o.Time)
	case !(o.LearningRate > 0 && o.LearningRate <= math.MaxFloat32):
		return fmt.Errorf("--learning-rate must be positive and a float32, got %v", o.LearningRate)
	case !(o.MinLR >= 0 && o.MinLR <= o.LearningRate):
		return fmt.Errorf("--min-lr must be between 0 and --learning-rate %v, got %v", o.LearningRate, o.MinLR)
	case o.Warmup < 0:
		return fmt.Errorf("--warmup-iters must not be negative, got %d", o.Warmup)
	case !(o.WeightDecay >= 0):
		return fmt.Errorf("--weight-decay must not be negative, got %v", o.WeightDecay)
	case !(o.Beta1 >= 0 && o.Beta1 < 1):
		return fmt.Errorf("--beta1 must be in [0, 1), got %v", o.Beta1)
	case !(o.Beta2 >= 0 && o.Beta2 < 1):
		return fmt.Errorf("--beta2 must be in [0, 1), got %v", o.Beta2)
	case !(o.Epsilon > 0):
		return fmt.Errorf("AdamW's epsilon must be positive, got %v", o.Epsilon)
	case !(o.Clip >= 0):
		return fmt.Errorf("--grad-clip must not be negative, got %v", o.Clip)
	}
	return nil
}
