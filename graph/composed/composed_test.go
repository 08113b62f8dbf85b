package composed

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/machine"
)

// Values and gradients are compared with PyTorch's and with the fused forms in package graph's tests. Here
// is what only composed forms have.

func input(g *gorgonia.ExprGraph, name string, v any, shape ...int) *gorgonia.Node {
	return gorgonia.NodeFromAny(g, tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v)), gorgonia.WithName(name))
}

// waves returns n numbers between -2 and 2.
func waves(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 2 * math.Sin(float64(3*i+1))
	}
	return x
}

func compute(t *testing.T, nodes ...*gorgonia.Node) {
	t.Helper()
	m, err := machine.New(nodes[0].Graph(), machine.Outputs(nodes...))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
}

func data(n *gorgonia.Node) []float64 { return n.Value().Data().([]float64) }

// TestWeights: the weights of each query sum to 1, are exactly 0 for later keys, come before dropout, and
// give the output as their product with the values.
func TestWeights(t *testing.T) {
	const b, h, n, d = 2, 2, 5, 3
	g := gorgonia.NewGraph()
	q := input(g, "q", waves(b*h*n*d), b, h, n, d)
	k := input(g, "k", waves(b * h * n * d)[:b*h*n*d], b, h, n, d)
	v := input(g, "v", waves(b*h*n*d), b, h, n, d)
	state := graph.NewRNG(g)
	if err := gorgonia.Let(state, tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{1, 2, 3}))); err != nil {
		t.Fatal(err)
	}
	y, w, err := ScaledDotProductAttention(q, k, v, graph.Causal(0))
	if err != nil {
		t.Fatal(err)
	}
	_, undropped, err := ScaledDotProductAttention(q, k, v, graph.AttentionConfig{
		Causal: true, Dropout: graph.DropoutConfig{P: 0.5, RNG: state}})
	if err != nil {
		t.Fatal(err)
	}
	compute(t, y, w, undropped)
	if !slices.Equal(w.Shape(), []int{b, h, n, n}) {
		t.Fatalf("weights have shape %v", w.Shape())
	}
	if !slices.Equal(data(w), data(undropped)) {
		t.Error("dropout changed the weights that are returned")
	}
	values := waves(b * h * n * d)
	for r := range b * h * n {
		row, i := data(w)[r*n:(r+1)*n], r%n
		sum, out := 0.0, make([]float64, d)
		for j, x := range row {
			if j > i && x != 0 || j <= i && !(x > 0) {
				t.Errorf("query %d gives key %d the weight %v", i, j, x)
			}
			sum += x
			for c := range out {
				out[c] += x * values[(r/n*n+j)*d+c]
			}
		}
		if math.Abs(sum-1) > 1e-14 {
			t.Errorf("the weights of row %d sum to %v", r, sum)
		}
		for c, x := range out {
			if math.Abs(x-data(y)[r*d+c]) > 1e-14 {
				t.Errorf("output %d of row %d is %v, the weights give %v", c, r, data(y)[r*d+c], x)
			}
		}
	}
}

// TestErf compares the exact GELU and its gradient with the standard library's error function.
func TestErf(t *testing.T) {
	var x []float64
	for v := -40.0; v <= 40; v += 1.0 / 64 {
		x = append(x, v)
	}
	in := input(gorgonia.NewGraph(), "x", x, len(x))
	y, err := GELUExact(in)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := gorgonia.Grad(gorgonia.Must(gorgonia.Sum(y)), in)
	if err != nil {
		t.Fatal(err)
	}
	compute(t, y, grads[0])
	for i, v := range x {
		value := v / 2 * (1 + math.Erf(v/math.Sqrt2))
		slope := (1+math.Erf(v/math.Sqrt2))/2 + v*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi)
		if math.Abs(data(y)[i]-value) > 1e-13 || math.Abs(data(grads[0])[i]-slope) > 1e-13 {
			t.Errorf("at %v: %v with slope %v, want %v with slope %v", v, data(y)[i], data(grads[0])[i], value, slope)
		}
	}
}

// TestGaussLegendre: n points integrate polynomials up to degree 2n-1 exactly, and no more.
func TestGaussLegendre(t *testing.T) {
	for _, n := range []int{1, 2, 5, erfPoints} {
		points, weights := gaussLegendre(n)
		for degree := range 2*n + 1 {
			sum := 0.0
			for i, x := range points {
				sum += weights[i] * math.Pow(x, float64(degree))
			}
			miss := math.Abs(sum - 1/float64(degree+1))
			if degree < 2*n && miss > 1e-15 {
				t.Errorf("%d points: x^%d integrates to %v", n, degree, sum)
			}
			if degree == 2*n && n <= 5 && miss < 1e-9 {
				t.Errorf("%d points: x^%d should not be exact", n, degree)
			}
		}
	}
}

// TestTwoTypesInOneGraph: constants of equal value but other type stay apart.
func TestTwoTypesInOneGraph(t *testing.T) {
	g := gorgonia.NewGraph()
	x, err := GELU(input(g, "x", []float64{1}, 1))
	if err != nil {
		t.Fatal(err)
	}
	y, err := GELU(input(g, "y", []float32{1}, 1))
	if err != nil {
		t.Fatal(err)
	}
	compute(t, x, y)
	const want = 0.8411919906082768
	if a, b := data(x)[0], float64(y.Value().Data().([]float32)[0]); math.Abs(a-want) > 1e-14 || math.Abs(b-want) > 1e-6 {
		t.Errorf("gelu(1) is %v in float64 and %v in float32, want %v", a, b, want)
	}
}
