package graph_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/gradcheck"
	"tinylm/internal/device"
)

// outputs builds a case and returns the nodes whose values count: result, loss and gradients.
func outputs(t *testing.T, c opCase, f form, typ tensor.Dtype) (nodes gorgonia.Nodes, names []string) {
	t.Helper()
	b, err := c.graph(f, typ)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := gorgonia.Grad(b.loss, b.in...)
	if err != nil {
		t.Fatal(err)
	}
	nodes, names = append(gorgonia.Nodes{b.out, b.loss}, grads...), []string{"result", "loss"}
	for _, n := range b.in {
		names = append(names, "gradient of "+n.Name())
	}
	return nodes, names
}

// TestFusedEqualsComposed compares the forms in float64.
func TestFusedEqualsComposed(t *testing.T) {
	for _, c := range opCases() {
		if c.onlyFused {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			nodes, names := outputs(t, c, fusedForm, tensor.Float64)
			fused := run(t, gradcheck.Machine, nodes...)
			nodes, _ = outputs(t, c, composedForm, tensor.Float64)
			for i, got := range run(t, gradcheck.Machine, nodes...) {
				wantClose(t, names[i], got, fused[i], 1e-12)
			}
		})
	}
}

// TestMachineEqualsTapeMachine compares our machine with Gorgonia's: to the bit where the operators are
// ours, to 1e-12 where Gorgonia's do the work.
func TestMachineEqualsTapeMachine(t *testing.T) {
	each(t, func(t *testing.T, c opCase, f form) {
		for _, typ := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			nodes, names := outputs(t, c, f, typ)
			ours := run(t, gradcheck.Machine, nodes...)
			nodes, _ = outputs(t, c, f, typ)
			for i, tape := range run(t, gradcheck.TapeMachine, nodes...) {
				switch {
				case f.name == fusedForm.name:
					if !slices.Equal(ours[i], tape) {
						t.Errorf("%v %s: %v, on the tape machine %v", typ, names[i], ours[i], tape)
					}
				case typ == tensor.Float64:
					wantClose(t, names[i], ours[i], tape, 1e-12)
				default:
					wantClose(t, names[i], ours[i], tape, 1e-6)
				}
			}
		}
	})
}

// primitives are the kernels and operators of which composed forms and their gradients may be made.
var primitives = []string{
	"device.MatMul", "device.Copy", "device.Transpose", "device.SliceLast", "device.PadLast",
	"device.Expand", "device.Reduce", "device.RowMax", "device.OneHot", "device.KeepMask", "device.Fill",
	"gorgonia.elemUnaryOp", "gorgonia.elemBinOp", "gorgonia.constantScalar",
}

// kinds returns what the nodes, and all they are computed from, run.
func kinds(nodes gorgonia.Nodes) []string {
	seen := map[*node]bool{}
	found := map[string]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		switch op := n.Op().(type) {
		case nil:
		case device.Operator:
			found[fmt.Sprintf("%T", op.Kernel())] = true
		default:
			found[fmt.Sprintf("%T", op)] = true
		}
		for _, in := range inputsOf(n) {
			visit(in)
		}
	}
	for _, n := range nodes {
		visit(n)
	}
	var all []string
	for k := range found {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// TestComposedHoldsPrimitivesOnly walks the operators of every composed graph and its gradient. The
// control is that every fused graph holds something else.
func TestComposedHoldsPrimitivesOnly(t *testing.T) {
	for _, c := range opCases() {
		if c.onlyFused {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for _, f := range forms {
				b, err := c.graph(f, tensor.Float64)
				if err != nil {
					t.Fatal(err)
				}
				// A sum of primitives too: Gorgonia's own has a gradient of other operators.
				n := must(t)
				ones := slices.Repeat([]int{1}, b.out.Dims())
				loss := n(graph.Reshape(n(graph.Reduce(n(gorgonia.Square(b.out)), ones...))))
				grads, err := gorgonia.Grad(loss, b.in...)
				if err != nil {
					t.Fatal(err)
				}
				nodes := append(gorgonia.Nodes{b.out}, grads...)
				var others []string
				for _, k := range kinds(nodes) {
					if !slices.Contains(primitives, k) {
						others = append(others, k)
					}
				}
				if f.name == composedForm.name && others != nil {
					t.Errorf("the composed form runs %s", strings.Join(others, ", "))
				}
				if f.name == fusedForm.name && others == nil {
					t.Error("no kernel of the fused form is told from a primitive")
				}
			}
		})
	}
}

// TestActivationExtremes: far from 0 value and slope are 0 on the left, x and 1 on the right; NaN stays NaN.
func TestActivationExtremes(t *testing.T) {
	inf := math.Inf(1)
	x := []float64{-inf, -1e38, -1e30, -60, 60, 1e30, 1e38, inf, math.NaN()}
	for _, f := range forms {
		for name, build := range map[string]func(*node) (*node, error){"relu": f.relu, "gelu": f.gelu, "exact gelu": f.geluExact} {
			for _, typ := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
				in := leaf(gorgonia.NewGraph(), "x", typ, []int{len(x)}, x)
				y := must(t)(build(in))
				sum := must(t)(graph.Reshape(must(t)(graph.Reduce(y, 1))))
				grads, err := gorgonia.Grad(sum, in)
				if err != nil {
					t.Fatal(err)
				}
				got := run(t, gradcheck.Machine, y, grads[0])
				for i, v := range floats(t, in.Value()) {
					value, slope := got[0][i], got[1][i]
					switch {
					case math.IsNaN(v):
						if !math.IsNaN(value) {
							t.Errorf("%s %s %v of NaN is %v", f.name, name, typ, value)
						}
					case v < 0:
						if !(math.Abs(value) <= 1e-13 && math.Abs(slope) <= 1e-13) {
							t.Errorf("%s %s %v of %v is %v with slope %v, want 0 with slope 0", f.name, name, typ, v, value, slope)
						}
					case !(value == v || math.Abs(value/v-1) <= 1e-15) || !(math.Abs(slope-1) <= 1e-13):
						t.Errorf("%s %s %v of %v is %v with slope %v, want x with slope 1", f.name, name, typ, v, value, slope)
					}
				}
			}
		}
	}
}
