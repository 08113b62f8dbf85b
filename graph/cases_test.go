package graph_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
)

// opCase is one operator on random inputs. The table of them drives the gradient checks and the
// comparisons of fused with composed and of machine with machine.
type opCase struct {
	name   string
	shapes [][]int // of the inputs, all differentiated
	// away keeps every input at least this far from 0, where ReLU has a corner.
	away float64
	// build makes the operator; what is no input to differentiate (ids, masks) it adds itself.
	build func(f form, x gorgonia.Nodes) (*node, error)
	// onlyFused marks primitives, which are the same in both forms.
	onlyFused bool
}

// built is a case as a graph.
type built struct {
	g         *gorgonia.ExprGraph
	in        gorgonia.Nodes
	out, loss *node
}

// graph builds the case with inputs of type typ; loss is the output's sum under random weights.
func (c opCase) graph(f form, typ tensor.Dtype) (built, error) {
	b := built{g: gorgonia.NewGraph()}
	if err := c.into(&b, f, typ); err != nil {
		return b, fmt.Errorf("%s, %s: %w", c.name, f.name, err)
	}
	return b, nil
}

func (c opCase) into(b *built, f form, typ tensor.Dtype) (err error) {
	for i, s := range c.shapes {
		data := random(uint64(i)+1, size(s))
		for j, x := range data {
			if math.Abs(x) < c.away {
				data[j] = math.Copysign(c.away, x)
			}
		}
		b.in = append(b.in, leaf(b.g, fmt.Sprintf("in%d", i), typ, s, data))
	}
	if b.out, err = c.build(f, b.in); err != nil {
		return err
	}
	b.loss, err = weighted(b.out, random(99, size(b.out.Shape())))
	return err
}

// each runs test for every case in every form.
func each(t *testing.T, test func(t *testing.T, c opCase, f form)) {
	for _, c := range opCases() {
		for _, f := range forms {
			if c.onlyFused && f.name != fusedForm.name {
				continue
			}
			t.Run(c.name+"/"+f.name, func(t *testing.T) { test(t, c, f) })
		}
	}
}

func opCases() []opCase {
	return append(append(denseCases(), rowCases()...), attentionCases()...)
}

func shapesOf(s ...[]int) [][]int { return s }

func denseCases() []opCase {
	cases := []opCase{
		{name: "linear", shapes: shapesOf([]int{2, 3, 5}, []int{5, 4}, []int{4}),
			build: func(f form, x gorgonia.Nodes) (*node, error) { return f.linear(x[0], x[1], x[2]) }},
		{name: "linear without bias, one row", shapes: shapesOf([]int{5}, []int{5, 4}),
			build: func(f form, x gorgonia.Nodes) (*node, error) { return f.linear(x[0], x[1], nil) }},
		{name: "linear of one column", shapes: shapesOf([]int{3, 1}, []int{1, 1}, []int{1}),
			build: func(f form, x gorgonia.Nodes) (*node, error) { return f.linear(x[0], x[1], x[2]) }},
		{name: "linear transposed", shapes: shapesOf([]int{2, 3, 5}, []int{4, 5}),
			build: func(f form, x gorgonia.Nodes) (*node, error) { return f.linearTransposed(x[0], x[1]) }},
		{name: "add", shapes: shapesOf([]int{2, 3, 4}, []int{2, 3, 4}),
			build: func(f form, x gorgonia.Nodes) (*node, error) { return f.add(x[0], x[1]) }},
		{name: "add suffix", shapes: shapesOf([]int{2, 3, 4}, []int{3, 4}),
			build: func(f form, x gorgonia.Nodes) (*node, error) { return f.add(x[0], x[1]) }},
		{name: "reshape and transpose", shapes: shapesOf([]int{2, 3, 4}), onlyFused: true,
			build: func(f form, x gorgonia.Nodes) (*node, error) {
				y, err := graph.Reshape(x[0], 4, 3, 2)
				if err != nil {
					return nil, err
				}
				return graph.Transpose(y, 1, 2, 0)
			}},
		{name: "expand", shapes: shapesOf([]int{2, 1, 4}), onlyFused: true,
			build: func(f form, x gorgonia.Nodes) (*node, error) { return graph.Expand(x[0], 2, 3, 4) }},
		{name: "reduce", shapes: shapesOf([]int{2, 3, 4}), onlyFused: true,
			build: func(f form, x gorgonia.Nodes) (*node, error) { return graph.Reduce(x[0], 1, 3, 1) }},
		{name: "split", shapes: shapesOf([]int{2, 6}), onlyFused: true,
			build: func(f form, x gorgonia.Nodes) (*node, error) {
				p, err := graph.SplitLast(x[0], 3)
				if err != nil {
					return nil, err
				}
				return gorgonia.HadamardProd(p[0], p[2]) // the middle part has no gradient
			}},
		{name: "fill where", shapes: shapesOf([]int{2, 3, 4}), onlyFused: true,
			build: func(f form, x gorgonia.Nodes) (*node, error) {
				mask := leaf(x[0].Graph(), "mask", tensor.Bool, []int{3, 1}, []float64{0, 1, 0})
				return graph.FillWhere(x[0], mask, 5)
			}},
		{name: "fill future", shapes: shapesOf([]int{2, 3, 4}), onlyFused: true,
			build: func(f form, x gorgonia.Nodes) (*node, error) { return graph.FillFuture(x[0], -2) }},
		{name: "softmax of an axis", shapes: shapesOf([]int{3, 4, 2}), onlyFused: true,
			build: func(f form, x gorgonia.Nodes) (*node, error) { return graph.SoftmaxAxis(x[0], 0) }},
		{name: "two readers of one node", shapes: shapesOf([]int{3, 4}, []int{4, 4}),
			build: func(f form, x gorgonia.Nodes) (*node, error) { return twoReaders(f, x) }},
	}
	for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		a, b := []int{2, 3, 5}, []int{2, 5, 4}
		if trans[0] {
			a[1], a[2] = a[2], a[1]
		}
		if trans[1] {
			b[1], b[2] = b[2], b[1]
		}
		cases = append(cases, opCase{name: fmt.Sprint("matmul ", trans), shapes: shapesOf(a, b), onlyFused: true,
			build: func(f form, x gorgonia.Nodes) (*node, error) { return graph.MatMul(x[0], x[1], trans[0], trans[1]) }})
	}
	return cases
}

// twoReaders reads x, w and y = x·w several times, also as both inputs of one operator, and mixes
// Gorgonia's operators with ours: gradients add up in every node.
func twoReaders(f form, x gorgonia.Nodes) (*node, error) {
	y, err := f.linear(x[0], x[1], nil)
	if err != nil {
		return nil, err
	}
	norm, err := f.softmax(y)
	if err != nil {
		return nil, err
	}
	both, err := gorgonia.HadamardProd(y, norm)
	if err != nil {
		return nil, err
	}
	both, err = f.add(both, both)
	if err != nil {
		return nil, err
	}
	if both, err = f.linear(both, x[1], nil); err != nil {
		return nil, err
	}
	if both, err = gorgonia.Tanh(both); err != nil {
		return nil, err
	}
	return f.add(both, x[0])
}

func rowCases() []opCase {
	unary := func(name string, away float64, pick func(f form) func(*node) (*node, error)) opCase {
		return opCase{name: name, shapes: shapesOf([]int{3, 7}), away: away,
			build: func(f form, x gorgonia.Nodes) (*node, error) { return pick(f)(x[0]) }}
	}
	norm := func(name string, pick func(f form) func(x, w, b *node, eps float64) (*node, error)) opCase {
		return opCase{name: name, shapes: shapesOf([]int{2, 3, 6}, []int{6}, []int{6}),
			build: func(f form, x gorgonia.Nodes) (*node, error) { return pick(f)(x[0], x[1], x[2], 1e-5) }}
	}
	loss := func(name string, typ tensor.Dtype, targets []float64, pick func(f form) func(x, y *node) (*node, error)) opCase {
		return opCase{name: name, shapes: shapesOf([]int{2, 3, 5}),
			build: func(f form, x gorgonia.Nodes) (*node, error) {
				return pick(f)(x[0], leaf(x[0].Graph(), "targets", typ, []int{2, 3}, targets))
			}}
	}
	mean := func(f form) func(x, y *node) (*node, error) { return f.crossEntropy }
	sum := func(f form) func(x, y *node) (*node, error) {
		return func(x, y *node) (*node, error) {
			loss, _, err := f.crossEntropySum(x, y)
			return loss, err
		}
	}
	embedding := func(typ tensor.Dtype) opCase {
		return opCase{name: fmt.Sprint("embedding of ", typ), shapes: shapesOf([]int{5, 3}),
			build: func(f form, x gorgonia.Nodes) (*node, error) {
				ids := leaf(x[0].Graph(), "ids", typ, []int{2, 3}, []float64{4, 1, 4, 0, 1, 1})
				return f.embedding(x[0], ids)
			}}
	}
	return []opCase{
		unary("gelu", 0, func(f form) func(*node) (*node, error) { return f.gelu }),
		unary("gelu exact", 0, func(f form) func(*node) (*node, error) { return f.geluExact }),
		unary("relu", 0.1, func(f form) func(*node) (*node, error) { return f.relu }),
		unary("softmax", 0, func(f form) func(*node) (*node, error) { return f.softmax }),
		unary("log softmax", 0, func(f form) func(*node) (*node, error) { return f.logSoftmax }),
		norm("layernorm", func(f form) func(x, w, b *node, eps float64) (*node, error) { return f.layerNorm }),
		norm("layernorm std", func(f form) func(x, w, b *node, eps float64) (*node, error) { return f.layerNormStd }),
		loss("cross entropy", tensor.Int32, []float64{0, 4, -100, 2, 2, 1}, mean),
		loss("cross entropy, none counted", tensor.Int, []float64{-100, -100, -100, -100, -100, -100}, mean),
		loss("cross entropy sum", tensor.Int64, []float64{0, 4, -100, 2, 2, 1}, sum),
		embedding(tensor.Int32), embedding(tensor.Int64), embedding(tensor.Int),
		{name: "dropout", shapes: shapesOf([]int{2, 3, 5}),
			build: func(f form, x gorgonia.Nodes) (*node, error) {
				return f.dropout(x[0], graph.DropoutConfig{P: 0.4, RNG: rng(x[0].Graph()), Site: 2})
			}},
	}
}

// maskCase is a mask for scores (2, 2, 3, 4) or (2, 2, 4, 4).
type maskCase struct {
	name  string
	typ   tensor.Dtype // Bool, or any other for the inputs' type
	shape []int        // the leading axes
	data  func(i int) float64
}

func maskCases() []maskCase {
	hide := func(i int) float64 { return float64(i % 3 % 2) }
	shift := func(i int) float64 { return math.Sin(float64(i)) }
	cut := func(i int) float64 { // hides everything from query 1
		if i/4%4 == 1 || i%5 == 4 {
			return math.Inf(-1)
		}
		return shift(i)
	}
	all := func(i int) float64 { return float64(1 - i/8%2) } // hides everything from queries 0 and 1
	return []maskCase{
		{name: "bool (Tq, Tk)", typ: tensor.Bool, data: hide},
		{name: "bool (B, 1, Tq, Tk)", typ: tensor.Bool, shape: []int{2, 1}, data: hide},
		{name: "bool (1, H, Tq, Tk)", typ: tensor.Bool, shape: []int{1, 2}, data: hide},
		{name: "bool with hidden rows", typ: tensor.Bool, shape: []int{2, 2}, data: all},
		{name: "additive (Tq, Tk)", data: shift},
		{name: "additive (B, H, Tq, Tk)", shape: []int{2, 2}, data: shift},
		{name: "additive with a row of -Inf", data: cut},
	}
}

// node adds the mask for tq queries to the graph of the input x.
func (m maskCase) node(x *node, tq int) *node {
	typ := m.typ
	if typ != tensor.Bool {
		typ = x.Dtype()
	}
	shape := append(append([]int{}, m.shape...), tq, 4)
	data := make([]float64, size(shape))
	for i := range data {
		data[i] = m.data(i)
	}
	return leaf(x.Graph(), "mask", typ, shape, data)
}

// attentionCase is attention by heads with 3 queries, or on a packed projection with 4; config makes its
// options in the graph of an input.
func attentionCase(name string, heads bool, config func(x *node) graph.AttentionConfig) opCase {
	if heads {
		return opCase{name: "attention by heads, " + name,
			shapes: shapesOf([]int{2, 2, 3, 5}, []int{2, 2, 4, 5}, []int{2, 2, 4, 6}),
			build: func(f form, x gorgonia.Nodes) (*node, error) {
				return f.scaledDotProductAttention(x[0], x[1], x[2], config(x[0]))
			}}
	}
	return opCase{name: "attention, " + name, shapes: shapesOf([]int{2, 4, 12}),
		build: func(f form, x gorgonia.Nodes) (*node, error) {
			c := config(x[0])
			c.Heads = 2
			return f.attention(x[0], c)
		}}
}

// attentionCases has each option alone, and all together.
func attentionCases() []opCase {
	var cases []opCase
	for _, heads := range []bool{false, true} {
		tq := 4
		if heads {
			tq = 3
		}
		add := func(name string, config func(x *node) graph.AttentionConfig) {
			cases = append(cases, attentionCase(name, heads, config))
		}
		dropout := func(x *node) graph.DropoutConfig {
			return graph.DropoutConfig{P: 0.3, RNG: rng(x.Graph()), Site: 5}
		}
		add("plain", func(*node) graph.AttentionConfig { return graph.AttentionConfig{} })
		add("causal", func(*node) graph.AttentionConfig { return graph.AttentionConfig{Causal: true} })
		add("dropout", func(x *node) graph.AttentionConfig { return graph.AttentionConfig{Dropout: dropout(x)} })
		for _, m := range maskCases() {
			add(m.name, func(x *node) graph.AttentionConfig { return graph.AttentionConfig{Mask: m.node(x, tq)} })
			add("causal, dropout, "+m.name, func(x *node) graph.AttentionConfig {
				return graph.AttentionConfig{Mask: m.node(x, tq), Causal: true, Dropout: dropout(x)}
			})
		}
	}
	return cases
}
