package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gorgonia.org/gorgonia"

	"tinylm/data"
	"tinylm/graph/machine"
	"tinylm/internal/device"
	"tinylm/layers"
)

// Trainer makes training steps. It owns the gradients and the optimizer's moments; the weights are the
// model's. It knows no files.
type Trainer struct {
	Model *layers.GPT

	opts     Options
	schedule Schedule
	dev      device.Device
	sampler  *data.Sampler
	next     func(*data.Batch) // the sampler's
	batch    data.Batch

	graph   *layers.Graph
	params  gorgonia.Nodes   // of the graph
	values  []gorgonia.Value // theirs, in the arena
	machine *machine.Machine
	took    []time.Duration    // of each step of the machine's plan, while it is measured
	grads   *layers.Parameters // of this step, sums over tokens
	micro   *layers.Parameters // of one micro-batch; grads itself when there is one a step
	add     device.Launch      // micro into grads
	opt     *optimizer
	eval    *evaluator

	step        int   // steps done
	tokens      int64 // trained on
	trainTokens int   // in the training part
}

// Step is what one training step did.
type Step struct {
	N      int     // number of the step, counting from 1
	Loss   float64 // nats per token, before the update
	Norm   float64 // of the mean gradient, before clipping
	Rate   float64 // learning rate
	Tokens int     // counted targets
}

// NewTrainer prepares training of m on the training part of a text; validation may be nil.
func NewTrainer(m *layers.GPT, training, validation []int32, o Options) (*Trainer, error) {
	return newTrainer(m, training, validation, o, machine.DefaultDevice())
}

func newTrainer(m *layers.GPT, training, validation []int32, o Options, d device.Device) (*Trainer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	t := &Trainer{
		Model: m, opts: o, dev: d, trainTokens: len(training),
		schedule: Schedule{Max: o.LearningRate, Min: o.MinLR, Warmup: o.Warmup, Decay: o.MaxIters},
	}
	var err error
	if t.sampler, err = data.NewSampler(training, m.Config.Context, o.Batch, o.Seed); err != nil {
		return nil, err
	}
	t.next = t.sampler.Next
	if t.graph, err = m.TrainGraph(o.Batch, m.Config.Context, layers.GraphOptions{Composed: o.Composed}); err != nil {
		return nil, err
	}
	if t.params, err = t.graph.Scope.Params(); err != nil {
		return nil, err
	}
	for _, n := range t.params {
		t.values = append(t.values, n.Value())
	}
	if err := t.makeMachine(); err != nil {
		return nil, err
	}
	if t.opt, err = newOptimizer(d, m.Params(), t.grads, o); err != nil {
		return nil, err
	}
	t.batch = data.Batch{B: o.Batch, T: m.Config.Context, Inputs: t.graph.IDs.Data, Targets: t.graph.Targets.Data}
	if validation != nil {
		t.eval, err = newEvaluator(m, validation, o, d, machine.Sharing(t.machine))
	}
	return t, err
}

// makeMachine puts the gradients into one flat array, and a second one when they are accumulated.
func (t *Trainer) makeMachine() error {
	t.grads = t.Model.Params().Like()
	t.micro = t.grads
	if t.opts.Accum > 1 {
		t.micro = t.Model.Params().Like()
		sum := flat(t.grads, 0, t.grads.Len())
		var err error
		if t.add, err = t.dev.Prepare(device.Add{}, []device.Buffer{sum}, []device.Buffer{sum, flat(t.micro, 0, t.micro.Len())}); err != nil {
			return err
		}
	}
	opts, err := t.graph.StepOptions(t.micro)
	if err != nil {
		return err
	}
	t.machine, err = machine.New(t.graph.Graph, append(opts, machine.On(t.dev))...)
	return err
}

// Step trains on the next batch: forward and backward over its micro-batches, clipping, AdamW. A loss or
// gradient that is not finite is a *NonFiniteError and changes no weight.
func (t *Trainer) Step() (Step, error) {
	if err := t.checkBound(); err != nil {
		return Step{}, err
	}
	start := t.sampler.State()
	var loss, count float64
	for i := range t.opts.Accum {
		l, c, err := t.forwardBackward(i)
		if err != nil {
			return Step{}, err
		}
		loss, count = loss+l, count+c
	}
	s := Step{N: t.step + 1, Loss: loss / count, Rate: t.schedule.Rate(t.step), Tokens: int(count)}
	var err error
	if s.Norm, err = t.opt.norm(count); err != nil {
		return s, err
	}
	if !finite(s.Loss) || !finite(s.Norm) {
		return s, t.explain(s, start)
	}
	if err := t.opt.step(s.N, s.Rate, count, s.Norm); err != nil {
		return s, err
	}
	t.step++
	t.tokens += int64(count)
	return s, nil
}

// load fills the graph's inputs for micro-batch i of the step.
func (t *Trainer) load(i int) {
	t.next(&t.batch)
	rng := t.graph.RNG.Data
	rng[0], rng[1], rng[2] = t.opts.Seed, int64(t.step), int64(i*t.opts.Batch)
}

// forwardBackward runs micro-batch i of the step and returns the summed loss and the counted targets.
func (t *Trainer) forwardBackward(i int) (loss, count float64, err error) {
	t.load(i)
	if err := t.machine.RunTimed(t.took); err != nil {
		return 0, 0, err
	}
	if t.opts.Accum > 1 {
		if i == 0 {
			clearFlat(t.grads)
		}
		if err := t.add(); err != nil {
			return 0, 0, err
		}
	}
	return scalar(t.graph.Loss), scalar(t.graph.Count), nil
}

func clearFlat(p *layers.Parameters) {
	clear(p.Flat32())
	clear(p.Flat64())
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// NonFiniteError stops a training whose loss or gradient is no longer a number. The weights are those
// from before the step.
type NonFiniteError struct {
	Step       int     // counting from 1
	Validation bool    // found by an evaluation after the step
	Loss       float64 // nats per token
	Norm       float64 // of the gradient
	Node       string  // first node with a non-finite result, and the ranges of its inputs
	Batch      []int32 // the inputs of the first window of the micro-batch that it happened in
}

func (e *NonFiniteError) Error() string {
	what := fmt.Sprintf("loss became %v", e.Loss)
	switch {
	case e.Validation:
		what = "validation " + what
	case finite(e.Loss):
		what = fmt.Sprintf("the gradient's norm became %v", e.Norm)
	}
	return fmt.Sprintf("%s at step %d; first bad node: %s", what, e.Step, e.Node)
}

// explain finds the node at which a step went wrong, by making it again from the sampler's state before it.
func (t *Trainer) explain(s Step, start data.SamplerState) error {
	bad := &NonFiniteError{Step: s.N, Loss: s.Loss, Norm: s.Norm,
		Node: "none in any micro-batch: the sum of their gradients overflowed"}
	if err := t.sampler.Restore(start); err != nil {
		return err
	}
	for i := range t.opts.Accum {
		t.load(i)
		bad.Batch = slices.Clone(t.batch.Inputs[:t.batch.T])
		node, err := t.machine.FirstNonFinite()
		if err != nil {
			return err
		}
		if node != "" {
			bad.Node = node
			break
		}
	}
	return bad
}

// checkBound reports a parameter that gorgonia.Let moved out of the model's arena: AdamW would not see it.
func (t *Trainer) checkBound() error {
	for i, n := range t.params {
		if n.Value() != t.values[i] {
			return t.Model.Params().CheckBound(n)
		}
	}
	return nil
}

// Probe returns how long a step takes without the update, the mean over a few on the next batches after
// one that warms up. It leaves the trainer as it was, unless ctx is cancelled.
func (t *Trainer) Probe(ctx context.Context, steps int) (time.Duration, error) {
	state := t.sampler.State()
	var began time.Time
	for i := range steps + 1 {
		if i == 1 {
			began = time.Now()
		}
		for j := range t.opts.Accum {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			if _, _, err := t.forwardBackward(j); err != nil {
				return 0, err
			}
		}
	}
	took := time.Since(began) / time.Duration(steps)
	return took, t.sampler.Restore(state)
}

// Profile is where the time of a training step goes; of several micro-batches, the last.
type Profile struct {
	Plan  machine.Plan
	Took  []time.Duration // the least time of each step of the plan
	Rest  time.Duration   // the least time of what else a training step does: the batch, and the update
	Whole time.Duration   // the least time of a whole training step
}

// Profile makes training steps, one to warm up and then as many as given, and measures them.
func (t *Trainer) Profile(steps int) (Profile, error) {
	p := Profile{Plan: t.machine.Plan()}
	t.took = make([]time.Duration, len(p.Plan.Steps))
	defer func() { t.took = nil }()
	for i := range steps + 1 {
		began := time.Now()
		if _, err := t.Step(); err != nil {
			return p, err
		}
		whole := time.Since(began)
		rest := whole
		for _, took := range t.took {
			rest -= took
		}
		if i <= 1 { // the first is not counted
			p.Took, p.Rest, p.Whole = slices.Clone(t.took), rest, whole
			continue
		}
		p.Rest, p.Whole = min(p.Rest, rest), min(p.Whole, whole)
		for j, took := range t.took {
			p.Took[j] = min(p.Took[j], took)
		}
	}
	return p, nil
}

// Bytes returns the memory of a training step: weights, gradients, both moments, and the results of the
// graph's nodes.
func (t *Trainer) Bytes() int64 {
	p := t.Model.Params()
	copies := int64(4)
	if t.micro != t.grads {
		copies++
	}
	return copies*int64(p.Len())*int64(p.DType().Size()) + t.machine.Bytes()
}

// Workers returns the number of workers of the device.
func (t *Trainer) Workers() int {
	if d, ok := t.dev.(interface{ Workers() int }); ok {
		return d.Workers()
	}
	return 1
}
