package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// GraphOptions says how the graph of a model is built.
type GraphOptions struct {
	Composed bool // from primitive nodes instead of fused operators
}

// Graph is a finished graph of a GPT over the model's own weights, with its inputs bound. Fill the inputs'
// Data in place and run it with graph/machine or gorgonia.NewTapeMachine.
type Graph struct {
	Graph     *gorgonia.ExprGraph
	Scope     *Scope         // the parameters' nodes, and the attention weights of the composed form
	IDs       Input[int32]   // (B, T)
	Positions Input[int32]   // (T), set to 0..T-1
	Targets   Input[int32]   // (B, T); not in a graph of logits
	RNG       Input[int64]   // (3): seed, step, index of the first sample; Node is nil without dropout
	Logits    *gorgonia.Node // (B, T, V)
	Loss      *gorgonia.Node // scalar, the sum over the counted targets in nats; not in a graph of logits
	Count     *gorgonia.Node // scalar, the number of counted targets
	Grads     gorgonia.Nodes // of Loss, in the order of Parameters.List; of a training graph only
}

// TrainGraph builds the graph of a training step on windows (batch, time): dropout, loss and gradients.
func (m *GPT) TrainGraph(batch, time int, o GraphOptions) (*Graph, error) {
	g := m.newGraph(o)
	g.Scope.Train = true
	if err := m.forward(g, batch, time); err != nil {
		return nil, err
	}
	if err := m.loss(g); err != nil {
		return nil, err
	}
	return g, m.backward(g)
}

// EvalGraph builds the graph of the loss alone, without dropout and gradients.
func (m *GPT) EvalGraph(batch, time int, o GraphOptions) (*Graph, error) {
	g := m.newGraph(o)
	if err := m.forward(g, batch, time); err != nil {
		return nil, err
	}
	return g, m.loss(g)
}

// LogitsGraph builds the graph of the logits (batch, time, V) alone. A text shorter than
// time is padded at the right, with any id: row t depends on the ids 0..t only.
func (m *GPT) LogitsGraph(batch, time int, o GraphOptions) (*Graph, error) {
	g := m.newGraph(o)
	return g, m.forward(g, batch, time)
}

func (m *GPT) newGraph(o GraphOptions) *Graph {
	g := gorgonia.NewGraph()
	s := NewScope(g, m.params)
	s.Composed = o.Composed
	return &Graph{Graph: g, Scope: s}
}

func (m *GPT) forward(g *Graph, batch, time int) (err error) {
	if batch < 1 || time < 1 {
		return fmt.Errorf("gpt: a batch of %d windows of %d tokens; want at least 1 of each", batch, time)
	}
	g.IDs = NewInput[int32](g.Graph, "ids", batch, time)
	g.Positions = NewInput[int32](g.Graph, "positions", time)
	for i := range g.Positions.Data {
		g.Positions.Data[i] = int32(i)
	}
	g.Logits, err = m.Logits(g.Scope, g.IDs.Node, g.Positions.Node)
	g.RNG = g.Scope.RNG
	return err
}

func (m *GPT) loss(g *Graph) (err error) {
	g.Targets = NewInput[int32](g.Graph, "targets", g.IDs.Node.Shape()...)
	g.Loss, g.Count, err = m.Loss(g.Scope, g.Logits, g.Targets.Node)
	return err
}

func (m *GPT) backward(g *Graph) error {
	params, err := g.Scope.Params()
	if err != nil {
		return err
	}
	g.Grads, err = gorgonia.Grad(g.Loss, params...)
	return err
}
