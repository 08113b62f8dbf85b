package graph_test

import (
	"fmt"
	"hash"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph/gradcheck"
)

// TestGradients checks the gradient of every operator, both forms, with central differences.
func TestGradients(t *testing.T) {
	each(t, func(t *testing.T, c opCase, f form) {
		build := func(g *gorgonia.ExprGraph) (*node, gorgonia.Nodes, error) {
			b := built{g: g}
			err := c.into(&b, f, tensor.Float64)
			return b.loss, b.in, err
		}
		r, err := gradcheck.Check(build, gradcheck.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		for _, x := range r.Tensors {
			if x.Checked != size(x.Shape) {
				t.Errorf("%s: %d of %d entries checked", x.Name, x.Checked, size(x.Shape))
			}
		}
	})
}

// scaledOp is an operator with its gradient rule scaled, as a wrong rule would be.
type scaledOp struct {
	gorgonia.SDOp
	factor float64
}

func (o scaledOp) Hashcode() uint32      { return o.SDOp.Hashcode() + 1 }
func (o scaledOp) WriteHash(h hash.Hash) { fmt.Fprintf(h, "%v scaled by %v", o.SDOp, o.factor) }

func (o scaledOp) SymDiff(in gorgonia.Nodes, out, grad *node) (gorgonia.Nodes, error) {
	grad, err := gorgonia.HadamardProd(grad, gorgonia.NewConstant(o.factor, gorgonia.WithName("factor")))
	if err != nil {
		return nil, err
	}
	return o.SDOp.SymDiff(in, out, grad)
}

// TestWrongGradientFails scales the gradient rule of every operator by 1.001: the check must find it in
// every tensor. By 1, it must pass.
func TestWrongGradientFails(t *testing.T) {
	each(t, func(t *testing.T, c opCase, f form) {
		build := c.build
		for _, factor := range []float64{1, 1.001} {
			c.build = func(f form, x gorgonia.Nodes) (*node, error) {
				y, err := build(f, x)
				if err != nil {
					return nil, err
				}
				return gorgonia.ApplyOp(scaledOp{y.Op().(gorgonia.SDOp), factor}, inputsOf(y)...)
			}
			r, err := gradcheck.Check(func(g *gorgonia.ExprGraph) (*node, gorgonia.Nodes, error) {
				b := built{g: g}
				err := c.into(&b, f, tensor.Float64)
				return b.loss, b.in, err
			}, gradcheck.Options{Sample: 12, Engine: gradcheck.TapeMachine})
			if err != nil {
				t.Fatal(err)
			}
			if factor == 1 {
				if err := r.Err(); err != nil {
					t.Error(err)
				}
				continue
			}
			for _, x := range r.Tensors {
				if x.Error <= r.Limit && x.Analytic != 0 {
					t.Errorf("%s passes with its gradient scaled by %v: error %.2g at %v", x.Name, factor, x.Error, x.Index)
				}
			}
		}
	})
}

// inputsOf returns the inputs of a node in order.
func inputsOf(n *node) gorgonia.Nodes {
	var in gorgonia.Nodes
	for it := n.Graph().From(n.ID()); it.Next(); {
		in = append(in, it.Node().(*node))
	}
	return in
}
