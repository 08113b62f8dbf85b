// Package checks lists the gradient checks that the command runs: every operator in its fused and its
// composed form, and a small GPT.
package checks

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph/gradcheck"
	"tinylm/layers"
)

// Check is one graph whose gradients are to be compared with finite differences.
type Check struct {
	Name  string
	build func(g *gorgonia.ExprGraph) (loss *gorgonia.Node, wrt gorgonia.Nodes, err error)
}

// All returns the checks of all operators, then those of the GPT.
func All() []Check {
	var all []Check
	for _, o := range operators() {
		all = append(all, o.check("fused", o.fused))
		if o.composed != nil {
			all = append(all, o.check("composed", o.composed))
		}
	}
	return append(all, gpt("fused", false), gpt("composed", true))
}

// Run makes the check.
func (c Check) Run() (gradcheck.Report, error) {
	return gradcheck.Check(c.build, gradcheck.Options{Sample: 32})
}

// operator is one operator on random inputs, all of which are differentiated by.
type operator struct {
	name            string
	shapes          [][]int
	fused, composed build // composed is nil for primitives, which have one form
}

// build applies an operator to its inputs; ids, masks and the like it adds itself.
type build func(x gorgonia.Nodes) (*gorgonia.Node, error)

func (o operator) check(form string, b build) Check {
	name := fmt.Sprintf("%s (%s)", o.name, form)
	return Check{name, func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
		var in gorgonia.Nodes
		for i, shape := range o.shapes {
			in = append(in, leaf(g, fmt.Sprintf("input %d", i), shape, random(uint64(i), shape)))
		}
		out, err := b(in)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		upstream := leaf(g, "upstream", out.Shape(), random(99, out.Shape()))
		product, err := gorgonia.HadamardProd(out, upstream)
		if err != nil {
			return nil, nil, err
		}
		loss, err := gorgonia.Sum(product)
		return loss, in, err
	}}
}

// random returns numbers between 0.1 and 1.1 with random signs: ReLU has a corner at 0.
func random(seed uint64, shape tensor.Shape) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, shape.TotalSize())
	for i := range x {
		x[i] = math.Copysign(0.1+r.Float64(), r.Float64()-0.5)
	}
	return x
}

// leaf adds an input with values to a graph.
func leaf[T float64 | int32 | int64 | bool](g *gorgonia.ExprGraph, name string, shape tensor.Shape, data []T) *gorgonia.Node {
	v := tensor.New(tensor.WithShape(shape.Clone()...), tensor.WithBacking(data))
	return gorgonia.NodeFromAny(g, v, gorgonia.WithName(name))
}

// gpt checks all weights of a GPT of two layers, with dropout.
func gpt(form string, composed bool) Check {
	return Check{fmt.Sprintf("gpt (%s)", form), func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
		const batch, time = 2, 4
		c := layers.Config{Layers: 2, Heads: 2, Width: 6, Context: time, Vocab: 5, Dropout: 0.1}
		m, err := layers.NewGPT(c, tensor.Float64)
		if err != nil {
			return nil, nil, err
		}
		weights := m.Params().Flat64() // larger than Init's, and no norm near its start: differences need that
		copy(weights, random(1, tensor.Shape{len(weights)}))
		s := layers.NewScope(g, m.Params())
		s.Train, s.Composed = true, composed
		ids := layers.NewInput[int32](g, "ids", batch, time)
		positions := layers.NewInput[int32](g, "positions", time)
		targets := layers.NewInput[int32](g, "targets", batch, time)
		logits, err := m.Logits(s, ids.Node, positions.Node)
		if err != nil {
			return nil, nil, err
		}
		loss, _, err := m.Loss(s, logits, targets.Node)
		if err != nil {
			return nil, nil, err
		}
		for i := range ids.Data {
			ids.Data[i], targets.Data[i] = int32(i*3%c.Vocab), int32(i*2%c.Vocab)
			positions.Data[i%time] = int32(i % time)
		}
		copy(s.RNG.Data, []int64{1, 2, 0}) // seed, step, first sample
		params, err := s.Params()
		return loss, params, err
	}}
}
