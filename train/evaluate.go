package train

import (
	"errors"
	"slices"

	"gorgonia.org/gorgonia"

	"tinylm/data"
	"tinylm/graph/machine"
	"tinylm/internal/device"
	"tinylm/layers"
)

// Evaluation is a model's loss on a text.
type Evaluation struct {
	Loss   float64 // nats per token
	Tokens int     // counted targets
}

// Evaluate returns the loss of m over tokens, at most limit targets in evenly spaced windows (0 = all):
// see data.EvalWindows. Dropout is off.
func Evaluate(m *layers.GPT, tokens []int32, limit, batch int) (Evaluation, error) {
	e, err := newEvaluator(m, tokens, Options{Batch: batch}, machine.DefaultDevice())
	if err != nil {
		return Evaluation{}, err
	}
	return e.run(limit)
}

// evaluator is an evaluation graph kept for the next time.
type evaluator struct {
	tokens  []int32
	batch   data.Batch
	graph   *layers.Graph
	machine *machine.Machine
}

func newEvaluator(m *layers.GPT, tokens []int32, o Options, d device.Device, opts ...machine.Option) (*evaluator, error) {
	g, err := m.EvalGraph(o.Batch, m.Config.Context, layers.GraphOptions{Composed: o.Composed})
	if err != nil {
		return nil, err
	}
	vm, err := machine.New(g.Graph, append(opts, machine.On(d), machine.Outputs(g.Loss, g.Count))...)
	if err != nil {
		return nil, err
	}
	return &evaluator{
		tokens: tokens, graph: g, machine: vm,
		batch: data.Batch{B: o.Batch, T: m.Config.Context, Inputs: g.IDs.Data, Targets: g.Targets.Data},
	}, nil
}

func (e *evaluator) run(limit int) (Evaluation, error) {
	w, err := data.NewEvalWindows(e.tokens, e.batch.T, e.batch.B, limit)
	if err != nil {
		return Evaluation{}, err
	}
	var loss, count float64
	for w.Next(&e.batch) {
		if err := e.machine.RunAll(); err != nil {
			return Evaluation{}, err
		}
		batch := scalar(e.graph.Loss)
		if !finite(batch) {
			return Evaluation{}, e.explain(batch)
		}
		loss += batch
		count += scalar(e.graph.Count)
	}
	return Evaluation{Loss: loss / count, Tokens: int(count)}, nil
}

// explain finds the node at which the batch that was just run left the numbers.
func (e *evaluator) explain(loss float64) error {
	node, err := e.machine.FirstNonFinite()
	if err != nil {
		return err
	}
	return &NonFiniteError{Validation: true, Loss: loss, Node: node, Batch: slices.Clone(e.batch.Inputs[:e.batch.T])}
}

// Evaluate returns the loss on the validation part, on at most data.EvalLimit tokens of it.
func (t *Trainer) Evaluate() (Evaluation, error) { return t.evaluate(data.EvalLimit) }

// evaluate is Evaluate on at most limit tokens.
func (t *Trainer) evaluate(limit int) (Evaluation, error) {
	if t.eval == nil {
		return Evaluation{}, errors.New("there is no validation part")
	}
	e, err := t.eval.run(limit)
	var bad *NonFiniteError
	if errors.As(err, &bad) {
		bad.Step = t.step
	}
	return e, err
}

// scalar returns the value of a scalar node of either float type.
func scalar(n *gorgonia.Node) float64 {
	switch v := n.Value().(type) {
	case *gorgonia.F64:
		return float64(*v)
	case *gorgonia.F32:
		return float64(*v)
	}
	return 0
}
