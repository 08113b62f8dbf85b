package layers

import (
	"fmt"

	"tinylm/graph/machine"
)

// ParameterCount returns the number of weights of a model, and the same without the table of positions,
// which is how sizes of models are usually stated. A tied output matrix counts once. Nothing is made, so
// any size is counted at once; one that no machine holds is an error.
func (c Config) ParameterCount() (total, withoutPositions int, err error) {
	if err := c.Validate(); err != nil {
		return 0, 0, err
	}
	c = c.WithDefaults()
	if n, most := parameterCount[float64](c), 1e15; n > most {
		return 0, 0, fmt.Errorf("a model of %.2g parameters is larger than any machine holds; want at most %.0g", n, most)
	}
	total = parameterCount[int](c)
	return total, total - c.Context*c.Width, nil
}

// parameterCount counts the weights that NewGPT declares.
func parameterCount[T int | float64](c Config) T {
	width, inner := T(c.Width), T(c.Inner)
	embeddings := (T(c.Vocab) + T(c.Context)) * width
	if c.Untied {
		embeddings += T(c.Vocab) * width
	}
	matrices := 4*width*width + 2*width*inner // attention's two, and the feed-forward layer's
	norms, biases := 4*width, 5*width+inner
	if c.NoBias {
		biases = 0
	}
	return embeddings + T(c.Layers)*(matrices+norms+biases) + 2*width
}

// LeastTrainMemory returns bounds, in bytes, below what training on batches of so many windows of the whole
// context needs in float32: for the weights, gradients and moments, and for what the forward part leaves to
// the backward part, which is of each block the inputs of both norms, the packed projection, attention's output
// and the input of the activation, and the logits. Nothing is made, so it is quick for any size; TrainMemory is
// exact. Of fused operators a step needs less than MostOverLeast times its bound.
func (c Config) LeastTrainMemory(batch int) (weights, step float64, err error) {
	total, _, err := c.ParameterCount()
	if err != nil {
		return 0, 0, err
	}
	c = c.WithDefaults()
	const bytes = 4
	tokens := float64(batch) * float64(c.Context)
	kept := float64(c.Layers)*(6*float64(c.Width)+float64(c.Inner)) + float64(c.Vocab)
	return 4 * bytes * float64(total), bytes * tokens * kept, nil
}

// MostOverLeast bounds how much more memory a step takes than LeastTrainMemory says.
const MostOverLeast = 4

// FLOPsPerToken returns the floating-point operations of a training step for each token of windows of the
// whole context: 6N for the matrix products, forward and backward, of N parameters without positions, and
// 6*Layers*Width*Context for attention, whose causal half counts once (Chowdhery et al. 2022, appendix B).
func (c Config) FLOPsPerToken() (int64, error) {
	_, n, err := c.ParameterCount()
	return 6*int64(n) + 6*int64(c.Layers)*int64(c.Width)*int64(c.Context), err
}

// Memory is what training holds, in bytes.
type Memory struct {
	Weights, Gradients int64
	Moments            int64 // AdamW's two
	Step               int64 // activations and their gradients, as the machine plans them
}

// Total returns the sum.
func (m Memory) Total() int64 { return m.Weights + m.Gradients + m.Moments + m.Step }

// TrainMemory plans a training step on windows (batch, time) and returns the memory that it needs.
func (m *GPT) TrainMemory(batch, time int, o GraphOptions) (Memory, error) {
	plan, err := m.TrainPlan(batch, time, o)
	arena := int64(m.params.Len()) * int64(m.params.dtype.Size())
	return Memory{Weights: arena, Gradients: arena, Moments: 2 * arena, Step: plan.Arena}, err
}

// TrainPlan describes how a machine runs the graph of a training step on windows (batch, time).
func (m *GPT) TrainPlan(batch, time int, o GraphOptions) (machine.Plan, error) {
	g, err := m.TrainGraph(batch, time, o)
	if err != nil {
		return machine.Plan{}, err
	}
	options := []machine.Option{machine.Outputs(g.Loss, g.Count)}
	for _, grad := range g.Grads {
		options = append(options, machine.Into(grad, nil))
	}
	return machine.Describe(g.Graph, options...)
}

// StepOptions are the machine options of a training graph: loss and count are kept, and the gradients go into
// an arena of the parameters' layout, as Parameters.Like returns.
func (g *Graph) StepOptions(grads *Parameters) ([]machine.Option, error) {
	options := []machine.Option{machine.Outputs(g.Loss, g.Count)}
	for i, w := range grads.list {
		v, err := grads.Tensor(w.Name)
		if err != nil {
			return nil, err
		}
		options = append(options, machine.Into(g.Grads[i], v))
	}
	return options, nil
}
