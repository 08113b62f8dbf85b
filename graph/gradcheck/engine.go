package gradcheck

import (
	"gorgonia.org/gorgonia"

	"tinylm/graph/machine"
)

// Engine prepares a finished graph; each call of the function it returns runs the graph and gives the
// values of the outputs, which the next call may overwrite.
type Engine func(g *gorgonia.ExprGraph, outputs gorgonia.Nodes) (func() ([]gorgonia.Value, error), error)

// Machine is the engine of package graph/machine.
func Machine(g *gorgonia.ExprGraph, outputs gorgonia.Nodes) (func() ([]gorgonia.Value, error), error) {
	m, err := machine.New(g, machine.Outputs(outputs...))
	if err != nil {
		return nil, err
	}
	return func() ([]gorgonia.Value, error) {
		if err := m.RunAll(); err != nil {
			return nil, err
		}
		vs := make([]gorgonia.Value, len(outputs))
		for i, n := range outputs {
			vs[i] = n.Value()
		}
		return vs, nil
	}, nil
}

// TapeMachine is Gorgonia's own engine.
func TapeMachine(g *gorgonia.ExprGraph, outputs gorgonia.Nodes) (func() ([]gorgonia.Value, error), error) {
	vs := make([]gorgonia.Value, len(outputs))
	for i, n := range outputs {
		gorgonia.Read(n, &vs[i])
	}
	m := gorgonia.NewTapeMachine(g)
	return func() ([]gorgonia.Value, error) {
		m.Reset()
		return vs, m.RunAll()
	}, nil
}
