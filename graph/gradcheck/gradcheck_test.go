package gradcheck_test

import (
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/gradcheck"
)

// engines are both machines.
var engines = map[string]gradcheck.Engine{"machine": gradcheck.Machine, "tape machine": gradcheck.TapeMachine}

func input(g *gorgonia.ExprGraph, name string, v []float64, shape ...int) *gorgonia.Node {
	return gorgonia.NodeFromAny(g, tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v)), gorgonia.WithName(name))
}

// TestStockOperators checks Gorgonia's elementwise operators, from which composed forms are made, for
// tensors, rows of one, and scalars.
func TestStockOperators(t *testing.T) {
	unary := map[string]func(*gorgonia.Node) (*gorgonia.Node, error){
		"Exp": gorgonia.Exp, "Log": gorgonia.Log, "Sqrt": gorgonia.Sqrt, "Square": gorgonia.Square,
		"Tanh": gorgonia.Tanh, "Neg": gorgonia.Neg,
	}
	binary := map[string]func(a, b *gorgonia.Node) (*gorgonia.Node, error){
		"Add": gorgonia.Add, "Sub": gorgonia.Sub, "HadamardProd": gorgonia.HadamardProd, "HadamardDiv": gorgonia.HadamardDiv,
	}
	type operator struct {
		name  string
		build func(a, b *gorgonia.Node) (*gorgonia.Node, error)
	}
	var all []operator
	for name, f := range unary {
		all = append(all, operator{name, func(a, b *gorgonia.Node) (*gorgonia.Node, error) {
			x, err := gorgonia.Add(a, b)
			if err != nil {
				return nil, err
			}
			return f(x)
		}})
	}
	for name, f := range binary {
		all = append(all, operator{name, f}, operator{name + " with a number", func(a, b *gorgonia.Node) (*gorgonia.Node, error) {
			x, err := f(a, gorgonia.NewConstant(1.5))
			if err != nil {
				return nil, err
			}
			return f(x, b)
		}}, operator{name + " of a number", func(a, b *gorgonia.Node) (*gorgonia.Node, error) {
			x, err := f(gorgonia.NewConstant(1.5), a)
			if err != nil {
				return nil, err
			}
			return gorgonia.Mul(gorgonia.NewConstant(2.0), gorgonia.Must(gorgonia.HadamardProd(x, b)))
		}})
	}
	for _, o := range all {
		for _, shape := range [][]int{{2, 3}, {1}, {1, 1}, {2, 1, 3}} {
			for name, engine := range engines {
				r, err := gradcheck.Check(func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
					a, b := make([]float64, tensor.Shape(shape).TotalSize()), make([]float64, tensor.Shape(shape).TotalSize())
					for i := range a {
						a[i], b[i] = 0.5+0.3*float64(i), 1.7-0.2*float64(i) // positive, for logarithms and roots
					}
					x, y := input(g, "a", a, shape...), input(g, "b", b, shape...)
					out, err := o.build(x, y)
					if err != nil {
						return nil, nil, err
					}
					square, err := gorgonia.HadamardProd(out, out)
					if err != nil {
						return nil, nil, err
					}
					loss, err := gorgonia.Sum(square)
					return loss, gorgonia.Nodes{x, y}, err
				}, gradcheck.Options{Engine: engine})
				if err == nil {
					err = r.Err()
				}
				if err != nil {
					t.Errorf("%s, shape %v, on the %s: %v", o.name, shape, name, err)
				}
			}
		}
	}
}

// TestWrongStockOperator: the check finds an operator of Gorgonia whose gradient is known to be wrong.
func TestWrongStockOperator(t *testing.T) {
	r, err := gradcheck.Check(func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
		x := input(g, "x", []float64{1, 2, 3, 4}, 4)
		y, err := gorgonia.InverseSqrt(x)
		if err != nil {
			return nil, nil, err
		}
		loss, err := gorgonia.Sum(y)
		return loss, gorgonia.Nodes{x}, err
	}, gradcheck.Options{Engine: gradcheck.TapeMachine})
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() == nil {
		t.Errorf("InverseSqrt passes:\n%v", r)
	}
}

// cube builds the loss sum(x³)/3, whose gradient is x².
func cube(x []float64) func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
	return func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
		n := input(g, "x", x, 2, len(x)/2)
		y := gorgonia.Must(gorgonia.HadamardProd(gorgonia.Must(gorgonia.Square(n)), n))
		loss := gorgonia.Must(gorgonia.HadamardProd(gorgonia.Must(gorgonia.Sum(y)), gorgonia.NewConstant(1.0/3)))
		return loss, gorgonia.Nodes{n}, nil
	}
}

// TestReport looks at a check whose numbers are known: the central difference of x³/3 is x² + h²/3.
func TestReport(t *testing.T) {
	for name, engine := range engines {
		x := []float64{1, -2, 3, 0.5}
		before := slices.Clone(x)
		r, err := gradcheck.Check(cube(x), gradcheck.Options{H: 0.01, Engine: engine})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x, before) {
			t.Errorf("on the %s: the check left %v in place of %v", name, x, before)
		}
		if len(r.Tensors) != 1 || r.H != 0.01 || r.Limit != 1e-7 {
			t.Fatalf("on the %s: report %+v", name, r)
		}
		got := r.Tensors[0]
		off := 1e-4 / 3 // of every entry; the largest gradient is 9
		if math.Abs(got.Error-off/9) > 1e-11 || math.Abs(got.Numeric-got.Analytic-off) > 1e-11 ||
			got.Checked != 4 || got.Name != "x" || !slices.Equal(got.Shape, []int{2, 2}) {
			t.Errorf("on the %s: %+v", name, got)
		}
		value := before[got.Index[0]*2+got.Index[1]]
		if math.Abs(got.Analytic-value*value) > 1e-13 {
			t.Errorf("on the %s: the gradient at %v is %v, want %v²", name, got.Index, got.Analytic, value)
		}
		err = r.Err()
		if err == nil {
			t.Fatalf("on the %s: an error of %v passes a limit of 1e-7", name, got.Error)
		}
		for _, part := range []string{fmt.Sprintf("x%v", got.Index), "3.7e-06", "1e-07"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("on the %s: the error %q lacks %q", name, err, part)
			}
		}
		r.Limit = 1e-5
		if err := r.Err(); err != nil {
			t.Errorf("on the %s: an error of %v fails a limit of 1e-5: %v", name, got.Error, err)
		}
	}
}

// TestSample: a sample is of the size asked for and the same each time.
func TestSample(t *testing.T) {
	x := make([]float64, 50)
	for i := range x {
		x[i] = float64(i)
	}
	first, err := gradcheck.Check(cube(x), gradcheck.Options{Sample: 7})
	if err != nil {
		t.Fatal(err)
	}
	again, err := gradcheck.Check(cube(x), gradcheck.Options{Sample: 7})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := first.Tensors[0], again.Tensors[0]; a.Checked != 7 || !slices.Equal(a.Index, b.Index) || a.Numeric != b.Numeric {
		t.Errorf("two samples of 7: %+v and %+v", a, b)
	}
	all, err := gradcheck.Check(cube(x), gradcheck.Options{Sample: 51})
	if err != nil {
		t.Fatal(err)
	}
	if all.Tensors[0].Checked != 50 {
		t.Errorf("a sample of 51 of 50 checks %d", all.Tensors[0].Checked)
	}
}

// TestNotANumberFails: a gradient of NaN is no pass.
func TestNotANumberFails(t *testing.T) {
	r, err := gradcheck.Check(func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
		x := input(g, "x", []float64{-1, 1}, 2)
		loss, err := gorgonia.Sum(gorgonia.Must(gorgonia.Sqrt(x)))
		return loss, gorgonia.Nodes{x}, err
	}, gradcheck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() == nil || !math.IsInf(r.Tensors[0].Error, 1) || !slices.Equal(r.Tensors[0].Index, []int{0}) {
		t.Errorf("the root of -1 passes:\n%v", r)
	}
}

// TestInfiniteGradientFails: a gradient that is not finite is the worst entry, also when it is not among
// the entries tried. The root's is infinite at 0.
func TestInfiniteGradientFails(t *testing.T) {
	for at := range 6 {
		x := []float64{1, 2, 3, 4, 5, 6}
		x[at] = 0
		r, err := gradcheck.Check(func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
			x := input(g, "x", x, 2, 3)
			loss, err := gorgonia.Sum(gorgonia.Must(gorgonia.Sqrt(x)))
			return loss, gorgonia.Nodes{x}, err
		}, gradcheck.Options{Sample: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Tensors[0]
		if r.Err() == nil || !math.IsInf(got.Error, 1) || !math.IsInf(got.Analytic, 1) || !slices.Equal(got.Index, []int{at / 3, at % 3}) {
			t.Errorf("the root of entry %d, which is 0:\n%v", at, r)
		}
	}
}

// TestCheckErrors: what cannot be checked is an error, not a report.
func TestCheckErrors(t *testing.T) {
	oops := errors.New("cannot build")
	for want, build := range map[string]func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error){
		"cannot build": func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) { return nil, nil, oops },
		"nothing to differentiate by": func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
			return gorgonia.Must(gorgonia.Sum(input(g, "x", []float64{1, 2}, 2))), nil, nil
		},
		"want a float64 scalar": func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
			x := input(g, "x", []float64{1, 2}, 2)
			return gorgonia.Must(gorgonia.Exp(x)), gorgonia.Nodes{x}, nil
		},
		"x: no value": func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
			x := gorgonia.NewVector(g, gorgonia.Float64, gorgonia.WithShape(2), gorgonia.WithName("x"))
			return gorgonia.Must(gorgonia.Sum(x)), gorgonia.Nodes{x}, nil
		},
		"strided": func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) {
			whole := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{1, 2, 3, 4}))
			column, err := whole.Slice(nil, gorgonia.S(0))
			if err != nil {
				return nil, nil, err
			}
			x := gorgonia.NodeFromAny(g, column, gorgonia.WithName("x"))
			return gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Exp(x)))), gorgonia.Nodes{x}, nil
		},
		"7 at position [0]": func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error) { // fails when run
			x := input(g, "x", []float64{1, 2}, 2, 1)
			ids := gorgonia.NodeFromAny(g, tensor.New(tensor.WithShape(1), tensor.WithBacking([]int32{7})), gorgonia.WithName("ids"))
			y, err := graph.Embedding(x, ids)
			if err != nil {
				return nil, nil, err
			}
			return gorgonia.Must(gorgonia.Sum(y)), gorgonia.Nodes{x}, nil
		},
	} {
		_, err := gradcheck.Check(build, gradcheck.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func ExampleCheck() {
	r, err := gradcheck.Check(func(g *gorgonia.ExprGraph) (loss *gorgonia.Node, wrt gorgonia.Nodes, err error) {
		x := input(g, "x", []float64{1, 2, 3, 4, 5, 6}, 2, 3)
		w := input(g, "w", []float64{0.5, -0.25, 0.125}, 3, 1)
		y, err := graph.Linear(x, w, nil)
		if err != nil {
			return nil, nil, err
		}
		loss, err = gorgonia.Sum(gorgonia.Must(gorgonia.Square(y)))
		return loss, gorgonia.Nodes{x, w}, err
	}, gradcheck.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range r.Tensors {
		fmt.Println(t.Name, t.Checked, "entries")
	}
	fmt.Println("failure:", r.Err())
	// Output:
	// x 6 entries
	// w 3 entries
	// failure: <nil>
}

func ExampleReport_WriteTo() {
	r := gradcheck.Report{H: 1e-5, Limit: 1e-7, Tensors: []gradcheck.Tensor{
		{Name: "h.0.attn.c_attn.weight", Shape: []int{4, 12}, Checked: 48, Error: 2.5e-10, Index: []int{3, 7}, Analytic: 0.123456789, Numeric: 0.12345679},
		{Name: "h.0.ln_1.bias", Shape: []int{4}, Checked: 4, Error: 1e-3, Index: []int{2}, Analytic: 1.001, Numeric: 1},
	}}
	r.WriteTo(os.Stdout)
	fmt.Println(r.Err())
	// Output:
	// tensor                  shape   checked  error    worst entry  gradient    difference
	// h.0.attn.c_attn.weight  [4 12]  48       2.5e-10  [3 7]        0.12345679  0.12345679  ok
	// h.0.ln_1.bias           [4]     4        1.0e-03  [2]          1.001       1           WRONG
	// 1 of 2 tensors within 1e-07 (central differences, h = 1e-05)
	// gradcheck: h.0.ln_1.bias[2]: gradient 1.001, central difference 1: error 0.001, at most 1e-07 allowed
}
