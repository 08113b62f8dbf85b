package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
)

// Scope is one graph being built over a model's parameters.
type Scope struct {
	Graph *gorgonia.ExprGraph

	// Train puts dropout into the graph; without it there are no dropout nodes at all.
	Train bool

	// Composed builds every operator from primitive nodes, as its definition reads, instead of one fused
	// node. Parameters, dropout and results are the same, up to rounding.
	Composed bool

	// AttentionWeights lists the weights (B, H, Tq, Tk) of each attention built so far, before dropout.
	// Only composed attention has them as nodes.
	AttentionWeights gorgonia.Nodes

	// RNG is what dropout counts from: seed, step, index of the first sample. Its node appears with the
	// first dropout; its data can be written in any case.
	RNG Input[int64]

	params *Parameters
	nodes  map[string]*gorgonia.Node
	sites  uint32
	cache  *cacheScope // nil: every attention sees the tokens of its graph alone
}

// Input is an input node and the memory of its value: write to Data before a run.
type Input[T int32 | int64] struct {
	Node *gorgonia.Node
	Data []T
}

// NewScope returns a scope of fused operators without dropout.
func NewScope(g *gorgonia.ExprGraph, p *Parameters) *Scope {
	return &Scope{Graph: g, params: p, nodes: map[string]*gorgonia.Node{}, RNG: Input[int64]{Data: make([]int64, 3)}}
}

// NewInput adds an input node of the given shape whose value is zeros.
func NewInput[T int32 | int64](g *gorgonia.ExprGraph, name string, shape ...int) Input[T] {
	data := make([]T, tensor.Shape(shape).TotalSize())
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
	n := gorgonia.NewTensor(g, v.Dtype(), len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name), gorgonia.WithValue(v))
	return Input[T]{Node: n, Data: data}
}

// Param returns the node of a parameter, whose value lies in the arena. There is one in a graph.
func (s *Scope) Param(name string) (*gorgonia.Node, error) {
	if n, ok := s.nodes[name]; ok {
		return n, nil
	}
	v, err := s.params.Tensor(name)
	if err != nil {
		return nil, err
	}
	n := gorgonia.NewTensor(s.Graph, v.Dtype(), v.Dims(), gorgonia.WithShape(v.Shape()...),
		gorgonia.WithName(name), gorgonia.WithValue(v))
	s.nodes[name] = n
	return n, nil
}

// Params returns the nodes of all parameters, in the order of the arena.
func (s *Scope) Params() (gorgonia.Nodes, error) {
	var all gorgonia.Nodes
	for _, w := range s.params.list {
		n, err := s.Param(w.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// paramNodes returns the nodes of several parameters under a common prefix.
func (s *Scope) paramNodes(prefix string, names ...string) (gorgonia.Nodes, error) {
	var all gorgonia.Nodes
	for _, name := range names {
		n, err := s.Param(prefix + "." + name)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func (s *Scope) ops() *operators {
	if s.Composed {
		return &composedOperators
	}
	return &fusedOperators
}

// dropout returns the configuration of the next dropout of the graph: none outside training. Sites count in
// the order of building, which is the same in both forms.
func (s *Scope) dropout(p float64) (graph.DropoutConfig, error) {
	if !(p >= 0 && p < 1) {
		return graph.DropoutConfig{}, fmt.Errorf("dropout: probability %v is not in [0, 1)", p)
	}
	site := s.sites
	s.sites++
	if !s.Train || p == 0 {
		return graph.DropoutConfig{}, nil
	}
	if s.RNG.Node == nil {
		s.RNG.Node = graph.NewRNG(s.Graph)
		if err := gorgonia.Let(s.RNG.Node, tensor.New(tensor.WithShape(3), tensor.WithBacking(s.RNG.Data))); err != nil {
			return graph.DropoutConfig{}, err
		}
	}
	return graph.DropoutConfig{P: p, RNG: s.RNG.Node, Site: site}, nil
}

// seen keeps the weights of an attention, if its form has them.
func (s *Scope) seen(weights *gorgonia.Node) {
	if weights != nil {
		s.AttentionWeights = append(s.AttentionWeights, weights)
	}
}

// named puts a layer's name before its error.
func named(name string, n *gorgonia.Node, err error) (*gorgonia.Node, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
