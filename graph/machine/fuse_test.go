package machine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/machine"
)

// builder makes small graphs of random float64 inputs.
type builder struct {
	*testing.T
	g *gorgonia.ExprGraph
	r *rand.Rand
	n int
}

func newBuilder(t *testing.T) *builder {
	return &builder{T: t, g: gorgonia.NewGraph(), r: rand.New(rand.NewPCG(7, 8))}
}

// in adds an input of the given shape.
func (b *builder) in(shape ...int) *gorgonia.Node {
	data := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range data {
		data[i] = b.r.NormFloat64()
	}
	b.n++
	return input(b.g, fmt.Sprint("in", b.n), data, shape...)
}

// ids adds an input of ids below n.
func (b *builder) ids(n int, shape ...int) *gorgonia.Node {
	data := make([]int32, tensor.Shape(shape).TotalSize())
	for i := range data {
		data[i] = b.r.Int32N(int32(n))
	}
	b.n++
	return gorgonia.NewTensor(b.g, tensor.Int32, len(shape), gorgonia.WithName(fmt.Sprint("in", b.n)), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
}

func (b *builder) must(n *gorgonia.Node, err error) *gorgonia.Node {
	b.Helper()
	return must(b.T)(n, err)
}

// linear is a product with a new matrix and bias.
func (b *builder) linear(x *gorgonia.Node, to int) *gorgonia.Node {
	return b.must(graph.Linear(x, b.in(x.Shape()[x.Dims()-1], to), b.in(to)))
}

func (b *builder) add(x, y *gorgonia.Node) *gorgonia.Node { return b.must(graph.Add(x, y)) }

func (b *builder) dropout(x *gorgonia.Node) *gorgonia.Node {
	rng := graph.NewRNG(b.g)
	if err := gorgonia.Let(rng, tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{1, 2, 3}))); err != nil {
		b.Fatal(err)
	}
	return b.must(graph.Dropout(x, graph.DropoutConfig{P: 0.3, RNG: rng}))
}

// grads returns the gradients of the weighted sum of y.
func (b *builder) grads(y *gorgonia.Node, of ...*gorgonia.Node) gorgonia.Nodes {
	b.Helper()
	loss := b.must(gorgonia.Sum(b.must(gorgonia.HadamardProd(y, b.in(y.Shape()...)))))
	grads, err := gorgonia.Grad(loss, of...)
	if err != nil {
		b.Fatal(err)
	}
	return grads
}

// fusions are graphs with the kernels that their plans must have, when only the outputs are kept, and those
// that they must not have.
var fusions = map[string]struct {
	build      func(b *builder) gorgonia.Nodes // the outputs
	want, gone []string
}{
	"linear and residual": {func(b *builder) gorgonia.Nodes {
		x := b.in(2, 3, 4)
		return gorgonia.Nodes{b.add(x, b.linear(x, 4))}
	}, []string{"linear bias residual"}, []string{"add"}},
	"linear as the first operand": {func(b *builder) gorgonia.Nodes {
		x := b.in(2, 3, 4)
		return gorgonia.Nodes{b.add(b.linear(x, 5), b.in(2, 3, 5))}
	}, []string{"linear bias residual"}, []string{"add"}},
	"linear and a row": {func(b *builder) gorgonia.Nodes { // broadcast over rows: no residual
		return gorgonia.Nodes{b.add(b.linear(b.in(2, 3, 4), 5), b.in(3, 5))}
	}, []string{"linear bias", "add"}, nil},
	"linear that is read twice": {func(b *builder) gorgonia.Nodes {
		y := b.linear(b.in(2, 4), 4)
		return gorgonia.Nodes{b.add(b.in(2, 4), y), b.must(graph.ReLU(y))}
	}, []string{"linear bias", "add", "activation kind=relu"}, nil},
	"linear added to itself": {func(b *builder) gorgonia.Nodes {
		y := b.linear(b.in(2, 4), 4)
		return gorgonia.Nodes{b.add(y, y)}
	}, []string{"linear bias", "add"}, nil},
	"linear seen in another shape": {func(b *builder) gorgonia.Nodes {
		y := b.must(graph.Reshape(b.linear(b.in(2, 4), 4), 4, 2))
		return gorgonia.Nodes{b.add(b.in(4, 2), y)}
	}, []string{"linear bias", "add"}, nil},
	"linear that is kept": {func(b *builder) gorgonia.Nodes {
		y := b.linear(b.in(2, 4), 4)
		return gorgonia.Nodes{y, b.add(b.in(2, 4), y)}
	}, []string{"linear bias", "add"}, nil},
	"linear, dropout, residual": {func(b *builder) gorgonia.Nodes {
		x := b.in(2, 3, 4)
		return gorgonia.Nodes{b.add(x, b.dropout(b.linear(x, 4)))}
	}, []string{"linear bias", "dropout p=0.3 residual"}, []string{"add"}},
	"dropout added to its own input": {func(b *builder) gorgonia.Nodes { // which must not be written over
		x := b.must(graph.ReLU(b.in(2, 3, 4)))
		return gorgonia.Nodes{b.add(x, b.dropout(x))}
	}, []string{"activation kind=relu", "dropout p=0.3 residual"}, []string{"add"}},
	"linear, activation, linear": {func(b *builder) gorgonia.Nodes {
		return gorgonia.Nodes{b.linear(b.must(graph.GELU(b.linear(b.in(2, 3, 4), 8))), 4)}
	}, []string{"linear bias", "linear bias input=gelu_tanh"}, []string{"activation"}},
	"activation read by others": {func(b *builder) gorgonia.Nodes {
		a := b.must(graph.GELU(b.linear(b.in(2, 3, 4), 4)))
		return gorgonia.Nodes{b.linear(a, 4), b.must(graph.Softmax(a))}
	}, []string{"linear bias", "activation kind=gelu_tanh", "softmax"}, nil},
	"feed-forward layer and its gradient": {func(b *builder) gorgonia.Nodes {
		x, w1, w2 := b.in(5, 4), b.in(4, 8), b.in(8, 4)
		h := b.must(graph.Linear(x, w1, nil))
		y := b.must(graph.Linear(b.must(graph.GELUExact(h)), w2, nil))
		return b.grads(b.add(x, y), x, w1, w2)
	}, []string{"linear.wgrad input=gelu_exact", "linear transw slope=gelu_exact", "linear.wgrad", "linear transw residual"},
		[]string{"activation", "activation.grad", "add"}},
	"gradient of an activation after dropout": {func(b *builder) gorgonia.Nodes {
		x, w := b.in(5, 4), b.in(4, 4)
		a := b.must(graph.ReLU(b.must(graph.Linear(x, w, nil))))
		return b.grads(b.linear(b.dropout(a), 4), w)
	}, []string{"activation kind=relu", "activation.grad kind=relu", "linear.wgrad"}, nil},
	"layer norm and the way around": {func(b *builder) gorgonia.Nodes {
		x, w, v := b.in(5, 4), b.in(4), b.in(4)
		y := b.must(graph.LayerNorm(x, w, v, 1e-5))
		return b.grads(b.add(x, b.must(graph.Softmax(y))), x, w, v)
	}, []string{"layernorm.grad eps=1e-05 add"}, nil},
	"layer norm added to its own input": {func(b *builder) gorgonia.Nodes { // one gradient goes both ways
		x, w, v := b.in(5, 4), b.in(4), b.in(4)
		h := b.must(graph.Softmax(x))
		return b.grads(b.must(graph.Softmax(b.add(h, b.must(graph.LayerNorm(h, w, v, 1e-5))))), x, w, v)
	}, []string{"layernorm.grad eps=1e-05 add"}, nil},
	"gradient added to what is made later": {func(b *builder) gorgonia.Nodes {
		x := b.in(5, 4)
		dx := b.grads(b.must(graph.LayerNorm(x, b.in(4), b.in(4), 1e-5)), x)[0]
		return gorgonia.Nodes{b.add(dx, b.must(graph.Softmax(b.in(5, 4))))}
	}, []string{"layernorm.grad eps=1e-05", "softmax", "add"}, nil},
	"one table looked up twice": {func(b *builder) gorgonia.Nodes {
		table := b.in(7, 4)
		x := b.must(graph.Softmax(b.must(graph.Embedding(table, b.ids(7, 3)))))
		return b.grads(b.add(x, b.must(graph.Embedding(table, b.ids(7, 3)))), table)
	}, []string{"embedding.grad", "embedding.grad add"}, nil},
	"one weight used twice": {func(b *builder) gorgonia.Nodes {
		x, w := b.in(5, 4), b.in(4, 4)
		y := b.must(graph.Linear(b.must(graph.Softmax(b.must(graph.Linear(x, w, nil)))), w, nil))
		return b.grads(y, w)
	}, []string{"linear.wgrad", "linear.wgrad add"}, []string{"add"}},
	"tied embedding": {func(b *builder) gorgonia.Nodes {
		table := b.in(7, 4)
		x := b.must(graph.Embedding(table, b.ids(7, 2, 3)))
		return b.grads(b.must(graph.LinearTransposed(b.must(graph.Softmax(x)), table)), table)
	}, []string{"linear.wgrad transw", "embedding.grad add"}, []string{"add"}},
	"loss and its gradient": {func(b *builder) gorgonia.Nodes {
		x, w := b.in(6, 4), b.in(4, 9)
		loss, count, err := graph.CrossEntropySum(b.must(graph.Linear(x, w, nil)), b.ids(9, 6))
		if err != nil {
			b.Fatal(err)
		}
		grads, err := gorgonia.Grad(loss, x, w)
		if err != nil {
			b.Fatal(err)
		}
		return append(grads, loss, count)
	}, []string{"crossentropy.both ignoreindex=-100"}, []string{"crossentropy", "crossentropy.grad"}},
	"loss that is a part of another": {func(b *builder) gorgonia.Nodes { // its gradient is known after it only
		logits := b.in(6, 9)
		loss := b.must(graph.CrossEntropy(logits, b.ids(9, 6)))
		grads, err := gorgonia.Grad(b.must(gorgonia.Square(loss)), logits)
		if err != nil {
			b.Fatal(err)
		}
		return grads
	}, []string{"crossentropy ignoreindex=-100 mean", "crossentropy.grad ignoreindex=-100 mean"}, nil},
}

// A plan joins what belongs together and nothing else, and gives what the plan gives in which every result is
// kept and nothing joined.
func TestFusion(t *testing.T) {
	for name, f := range fusions {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(t)
			outputs := f.build(b)
			kernels := kernelsOf(t, b.g, machine.Outputs(outputs...))
			for _, k := range f.want {
				if !slices.Contains(kernels, k) {
					t.Errorf("the plan has no %q: %q", k, kernels)
				}
			}
			for _, k := range kernels {
				if kind, _, _ := strings.Cut(k, " "); slices.Contains(f.gone, kind) {
					t.Errorf("the plan still has %q", k)
				}
			}
			run(t, newMachine(t, b.g))
			var want [][]float64
			for _, n := range outputs {
				want = append(want, slices.Clone(floats(n)))
			}
			run(t, newMachine(t, b.g, machine.Outputs(outputs...)))
			for i, n := range outputs {
				for j, v := range floats(n) {
					if math.Abs(v-want[i][j]) > 1e-13*(1+math.Abs(want[i][j])) {
						t.Fatalf("output %d is %v, want %v", i, floats(n), want[i])
					}
				}
			}
		})
	}
}

// kernelsOf returns the kernels of a plan, and checks that without outputs, with every result kept, none is a
// fused one.
func kernelsOf(t *testing.T, g *gorgonia.ExprGraph, opts ...machine.Option) []string {
	t.Helper()
	all, err := machine.Describe(g)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Steps {
		for _, word := range []string{" residual", " add", " input=", " slope=", "both"} {
			if strings.Contains(s.Kernel, word) {
				t.Errorf("with every result kept the plan has %q", s.Kernel)
			}
		}
	}
	plan, err := machine.Describe(g, opts...)
	if err != nil {
		t.Fatal(err)
	}
	var kernels []string
	for _, s := range plan.Steps {
		kernels = append(kernels, s.Kernel)
	}
	return kernels
}
