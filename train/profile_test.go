package train

import (
	"slices"
	"testing"
	"time"

	"tinylm/data"
)

// Evaluations, which happen in the memory of the training step, give what they give in memory of their own, and
// change nothing of the training.
func TestEvaluationBetweenSteps(t *testing.T) {
	plain, between := newSmall(t, 2, smallOptions(10)), newSmall(t, 2, smallOptions(10))
	want := steps(t, plain, 10)
	var got []float64
	for range 10 {
		e, err := between.Evaluate()
		if err != nil {
			t.Fatal(err)
		}
		alone, err := Evaluate(between.Model, randomTokens(300, small.Vocab), data.EvalLimit, between.opts.Batch)
		if err != nil || e != alone {
			t.Errorf("evaluation %+v, in memory of its own %+v, %v", e, alone, err)
		}
		got = append(got, steps(t, between, 1)...)
	}
	if !slices.Equal(got, want) || !slices.Equal(weights(between), weights(plain)) {
		t.Errorf("losses and norms %v with evaluations, %v without", got, want)
	}
}

// A profile is of ordinary steps: the weights are those after as many steps without.
func TestProfile(t *testing.T) {
	for _, accum := range []int{1, 2} {
		o := smallOptions(10)
		o.Accum = accum
		plain, measured := newSmall(t, 2, o), newSmall(t, 2, o)
		steps(t, plain, 4)
		p, err := measured.Profile(3)
		if err != nil {
			t.Fatal(err)
		}
		if measured.Done() != 4 || !slices.Equal(weights(measured), weights(plain)) {
			t.Errorf("after %d steps the weights are others", measured.Done())
		}
		if len(p.Took) == 0 || len(p.Took) != len(p.Plan.Steps) {
			t.Errorf("%d times for %d steps", len(p.Took), len(p.Plan.Steps))
		}
		var sum time.Duration
		for _, took := range p.Took {
			sum += took
		}
		if sum <= 0 || sum > p.Whole || p.Rest > p.Whole {
			t.Errorf("kernels %v and the rest %v of %v", sum, p.Rest, p.Whole)
		}
		steps(t, measured, 1) // is not measured any more
	}
}
