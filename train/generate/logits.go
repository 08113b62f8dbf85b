package generate

import (
	"fmt"

	"tinylm/graph/machine"
	"tinylm/layers"
)

// window is the graph of the logits of up to T tokens, ready to run.
type window struct {
	graph   *layers.Graph
	machine *machine.Machine
}

// shortest is the smallest T of a window.
const shortest = 16

// windowLen returns the T of the window for n tokens: twice shortest as often as needed, at most context.
func windowLen(n, context int) int {
	t := shortest
	for t < n {
		t *= 2
	}
	return min(t, context)
}

// logits returns the scores (V) of the token that follows ids, of which there are 1 to the model's context.
func (m *Model) logits(ids []int32) ([]float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.window(windowLen(len(ids), m.GPT.Config.Context))
	if err != nil {
		return nil, err
	}
	copy(w.graph.IDs.Data, ids) // what was there stays behind them as padding, which their rows do not see
	if err := w.machine.RunAll(); err != nil {
		return nil, err
	}
	logits := w.graph.Logits.Value().Data() // (1, T, V)
	switch row := (len(ids) - 1) * m.GPT.Config.Vocab; all := logits.(type) {
	case []float32:
		return widen(all[row:][:m.GPT.Config.Vocab]), nil
	case []float64:
		return widen(all[row:][:m.GPT.Config.Vocab]), nil
	}
	return nil, fmt.Errorf("logits of type %T; want float32 or float64", logits)
}

func widen[F layers.Float](x []F) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// window returns the window of t tokens, made at its first use.
func (m *Model) window(t int) (*window, error) {
	if w, ok := m.windows[t]; ok {
		return w, nil
	}
	g, err := m.GPT.LogitsGraph(1, t, layers.GraphOptions{})
	if err != nil {
		return nil, err
	}
	vm, err := machine.New(g.Graph, machine.On(m.dev), machine.Outputs(g.Logits))
	if err != nil {
		return nil, err
	}
	m.windows[t] = &window{graph: g, machine: vm}
	return m.windows[t], nil
}
