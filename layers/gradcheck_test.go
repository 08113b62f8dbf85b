package layers

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph/gradcheck"
)

// lossGraph builds the loss of a training graph into g, with inputs bound, and all parameters' nodes.
func lossGraph(m *GPT, g *gorgonia.ExprGraph, composed bool) (*gorgonia.Node, gorgonia.Nodes, error) {
	b := &Graph{Graph: g, Scope: NewScope(g, m.Params())}
	b.Scope.Train, b.Scope.Composed = true, composed
	if err := m.forward(b, 2, 4); err != nil {
		return nil, nil, err
	}
	if err := m.loss(b); err != nil {
		return nil, nil, err
	}
	fillSmall(b, m.Config.Vocab)
	params, err := b.Scope.Params()
	return b.Loss, params, err
}

// A whole GPT of two layers, dropout with a fixed step, against central differences.
func TestGradientCheck(t *testing.T) {
	for _, act := range []Activation{GELUTanh, GELUExact} {
		for _, composed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/composed=%v", act, composed), func(t *testing.T) {
				c := Config{Layers: 2, Heads: 2, Width: 6, Context: 4, Vocab: 5, Inner: 8, Activation: act, Dropout: 0.2, Untied: act == GELUExact}
				m := newSmall(c, tensor.Float64)
				report, err := gradcheck.Check(func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
					return lossGraph(m, g, composed)
				}, gradcheck.Options{Sample: 24})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := len(report.Tensors), len(m.Params().List()); got != want {
					t.Errorf("%d tensors checked, want %d", got, want)
				}
				if err := report.Err(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
