package layers

import (
	"gorgonia.org/tensor"

	"tinylm/graph/machine"
)

// ParameterCount returns the number of weights of a model, and the same without the table of positions,
// which is how sizes of models are usually stated. A tied output matrix counts once.
func (c Config) ParameterCount() (total, withoutPositions int, err error) {
	m, err := declareGPT(c, tensor.Float32)
	if err != nil {
		return 0, 0, err
	}
	total = m.params.Len()
	return total, total - c.Context*c.Width, nil
}

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
	g, err := m.TrainGraph(batch, time, o)
	if err != nil {
		return Memory{}, err
	}
	options, err := g.GradientsInto(m.params.Like())
	if err != nil {
		return Memory{}, err
	}
	step, err := machine.Bytes(g.Graph, append(options, machine.Outputs(g.Loss, g.Count))...)
	arena := int64(m.params.Len()) * int64(m.params.dtype.Size())
	return Memory{Weights: arena, Gradients: arena, Moments: 2 * arena, Step: step}, err
}

// GradientsInto are the machine options that put the gradients of a training graph into an arena of the
// parameters' layout, as Parameters.Like returns.
func (g *Graph) GradientsInto(grads *Parameters) ([]machine.Option, error) {
	var options []machine.Option
	for i, w := range grads.list {
		v, err := grads.Tensor(w.Name)
		if err != nil {
			return nil, err
		}
		options = append(options, machine.Into(g.Grads[i], v))
	}
	return options, nil
}
