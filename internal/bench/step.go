package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tinylm/internal/device/cpu"
	"tinylm/layers"
	"tinylm/train"
)

// StepOptions say which training step is measured.
type StepOptions struct {
	Shape   Shape
	Dropout float64
	Steps   int // measured after those that warm up; 0 = for some seconds
}

// StepResult is what a training step takes.
type StepResult struct {
	Shape         string  `json:"shape"`
	Dropout       float64 `json:"dropout"`
	Threads       int     `json:"threads"`
	ISA           string  `json:"isa"`
	Parameters    int     `json:"parameters"` // without the table of positions
	FLOPsPerToken int64   `json:"flops_per_token"`
	Steps         int     `json:"steps"`
	MsBest        float64 `json:"ms_best"`
	MsMedian      float64 `json:"ms_median"`
	TokensPerS    float64 `json:"tokens_per_s"` // this and what follows by the median
	GFLOPS        float64 `json:"gflops"`
	PeakGFLOPS    float64 `json:"peak_gflops"` // of multiply-adds on as many threads, see Peak
	ShareOfPeak   float64 `json:"share_of_peak"`
	RSSMB         int64   `json:"rss_mb"` // most that was resident
	Loss          float64 `json:"loss"`   // of the last step
}

// Step measures whole training steps on random tokens, by the trainer itself: the batch, forward, backward,
// clipping, AdamW with decay of the matrices only.
func Step(o StepOptions) (StepResult, error) {
	c := o.Shape.Config()
	c.Dropout = o.Dropout
	t, err := newTrainer(c, o.Shape.Batch)
	if err != nil {
		return StepResult{}, err
	}
	r := StepResult{Shape: o.Shape.Name, Dropout: o.Dropout, Threads: t.Workers(), ISA: cpu.Default().ISA()}
	if _, r.Parameters, err = c.ParameterCount(); err != nil {
		return r, err
	}
	if r.FLOPsPerToken, err = c.FLOPsPerToken(); err != nil {
		return r, err
	}
	before, err := Peak(r.Threads)
	if err != nil {
		return r, err
	}
	times, err := r.steps(t, o.Steps)
	if err != nil {
		return r, err
	}
	after, err := Peak(r.Threads)
	if err != nil {
		return r, err
	}
	return r, r.sum(times, o.Shape.Tokens(), max(before, after))
}

// The steps that are measured unless a number is given.
const (
	warmSteps  = 2
	leastSteps = 3
	stepsSpend = 5 * time.Second
)

// newTrainer returns a trainer of a new model on random tokens.
func newTrainer(c layers.Config, batch int) (*train.Trainer, error) {
	m, err := layers.NewGPT(c, layers.Float32)
	if err != nil {
		return nil, err
	}
	m.Init(1)
	o := train.Defaults()
	o.Batch, o.MinLR, o.Warmup = batch, o.LearningRate, 0
	return train.NewTrainer(m, randomTokens(100_000, c.Vocab), nil, o)
}

// randomTokens are n tokens of a vocabulary.
func randomTokens(n, vocab int) []int32 {
	random := rand.New(rand.NewPCG(1, 1))
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = random.Int32N(int32(vocab))
	}
	return tokens
}

// steps trains and returns the time of every step that counts.
func (r *StepResult) steps(t *train.Trainer, steps int) ([]time.Duration, error) {
	step := func() error {
		s, err := t.Step()
		r.Loss = round(s.Loss, 3)
		return err
	}
	if _, err := samples(step, 0, warmSteps); err != nil {
		return nil, err
	}
	if steps > 0 {
		return samples(step, 0, steps)
	}
	return samples(step, stepsSpend, leastSteps)
}

// sum fills in the figures that follow from the times.
func (r *StepResult) sum(times []time.Duration, tokens int, peak float64) error {
	r.Steps = len(times)
	mid := median(times)
	r.MsBest, r.MsMedian = milliseconds(slices.Min(times)), milliseconds(mid)
	r.TokensPerS = round(float64(tokens)/mid.Seconds(), 0)
	rate := perSecond(float64(tokens)*float64(r.FLOPsPerToken), mid)
	r.GFLOPS, r.PeakGFLOPS, r.ShareOfPeak = round(rate, 1), round(peak, 1), round(rate/peak, 4)
	resident, err := peakResident()
	r.RSSMB = resident >> 20
	if err != nil {
		return fmt.Errorf("cannot read the memory used: %w", err)
	}
	return nil
}
