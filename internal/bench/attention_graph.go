package bench

import (
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/composed"
	"tinylm/graph/machine"
)

// attentionGraph is attention alone. Its results lie outside of the machine that runs it, so that what the
// machine takes is extra.
type attentionGraph struct {
	graph   *gorgonia.ExprGraph
	results gorgonia.Nodes // y, and dqkv of a graph with backward
}

// graph builds one of the two forms on random inputs, qkv (1, T, 3C) and dy (1, T, C).
func (a *attention) graph(spelledOut, backward bool) (*attentionGraph, error) {
	g := gorgonia.NewGraph()
	c := a.Heads * a.HeadWidth
	qkv := randomInput(g, "qkv", 1, a.length, 3*c)
	y, err := a.forward(qkv, spelledOut) // (1, T, C)
	if err != nil {
		return nil, err
	}
	results := gorgonia.Nodes{y}
	if backward {
		dy := randomInput(g, "dy", 1, a.length, c)
		grads, err := gorgonia.Backpropagate(gorgonia.Nodes{y}, gorgonia.Nodes{dy}, gorgonia.Nodes{qkv})
		if err != nil {
			return nil, err
		}
		results = append(results, grads...)
	}
	return &attentionGraph{g, results}, nil
}

func (a *attention) forward(qkv *gorgonia.Node, spelledOut bool) (*gorgonia.Node, error) {
	if !spelledOut {
		return graph.Attention(qkv, graph.Causal(a.Heads))
	}
	y, _, err := composed.Attention(qkv, graph.Causal(a.Heads))
	return y, err
}

// options are the machine's: the results, in memory of their own.
func (g *attentionGraph) options() []machine.Option {
	options := []machine.Option{machine.Outputs(g.results...)}
	for _, n := range g.results {
		v := tensor.New(tensor.WithShape(n.Shape().Clone()...), tensor.Of(tensor.Float32))
		options = append(options, machine.Into(n, v))
	}
	return options
}

// randomInput adds an input of random numbers around 0.
func randomInput(g *gorgonia.ExprGraph, name string, shape ...int) *gorgonia.Node {
	x := make([]float32, tensor.Shape(shape).TotalSize())
	fillRandom(x)
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
	return gorgonia.NodeFromAny(g, v, gorgonia.WithName(name))
}

// fillRandom writes numbers between -1 and 1, the same at every call.
func fillRandom(x []float32) {
	random := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = 2*random.Float32() - 1
	}
}
