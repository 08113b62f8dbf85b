package graph_test

import (
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/gradcheck"
)

// TestErrors gives builders inputs that they must refuse; the error names the numbers that do not fit.
func TestErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	of := zeros(g)
	x := func(shape ...int) *node { return of(tensor.Float64, shape...) }
	single, ids, mask := tensor.Float32, tensor.Int32, tensor.Bool
	first := func(n, _ *node, err error) (*node, error) { return n, err }
	heads := func(n int) graph.AttentionConfig { return graph.AttentionConfig{Heads: n} }
	masked := func(m *node) graph.AttentionConfig { return graph.AttentionConfig{Heads: 2, Mask: m} }
	drop := func(p float64, rng *node) graph.DropoutConfig { return graph.DropoutConfig{P: p, RNG: rng} }

	type errorCase struct {
		name  string
		build func(f form) (*node, error)
		want  string // substrings, parted by |
	}
	cases := []errorCase{
		{"linear columns", func(f form) (*node, error) { return f.linear(x(2, 5), x(4, 3), nil) }, "(2, 5)|5 columns|(4, 3)|4"},
		{"linear weight rank", func(f form) (*node, error) { return f.linear(x(2, 5), x(5), nil) }, "(5)|matrix"},
		{"linear of a scalar", func(f form) (*node, error) { return f.linear(x(), x(1, 2), nil) }, "(..., K)"},
		{"linear bias", func(f form) (*node, error) { return f.linear(x(2, 5), x(5, 3), x(4)) }, "bias (4)|(3)"},
		{"linear types", func(f form) (*node, error) { return f.linear(x(2, 5), of(single, 5, 3), nil) }, "float64|float32"},
		{"linear of ids", func(f form) (*node, error) { return f.linear(of(ids, 2, 5), x(5, 3), nil) }, "int32|want float32 or float64"},
		{"linear transposed columns", func(f form) (*node, error) { return f.linearTransposed(x(2, 5), x(5, 3)) }, "5 columns|(5, 3)|3"},
		{"add", func(f form) (*node, error) { return f.add(x(2, 3), x(2)) }, "suffix"},
		{"add longer", func(f form) (*node, error) { return f.add(x(3), x(2, 3)) }, "suffix"},
		{"embedding table", func(f form) (*node, error) { return f.embedding(x(3), of(ids, 2)) }, "(3)|(V, C)"},
		{"embedding ids", func(f form) (*node, error) { return f.embedding(x(3, 2), x(2)) }, "float64|int32, int64 or int"},
		{"layernorm weight", func(f form) (*node, error) { return f.layerNorm(x(2, 3), x(2), x(3), 1e-5) }, "[2 3], [2], [3]|want (..., C)"},
		{"layernorm epsilon", func(f form) (*node, error) { return f.layerNorm(x(2, 3), x(3), x(3), 0) }, "epsilon 0"},
		{"gelu of ids", func(f form) (*node, error) { return f.gelu(of(ids, 2)) }, "int32"},
		{"exact gelu of ids", func(f form) (*node, error) { return f.geluExact(of(ids, 2)) }, "int32"},
		{"softmax of a scalar", func(f form) (*node, error) { return f.softmax(x()) }, "scalar"},
		{"attention heads", func(f form) (*node, error) { return f.attention(x(2, 3, 12), heads(3)) }, "(2, 3, 12)|3 heads"},
		{"attention without heads", func(f form) (*node, error) { return f.attention(x(2, 3, 12), heads(0)) }, "0 heads"},
		{"attention rank", func(f form) (*node, error) { return f.attention(x(3, 12), heads(2)) }, "(3, 12)|(B, T, 3C)"},
		{"attention mask", func(f form) (*node, error) { return f.attention(x(2, 3, 12), masked(of(mask, 3, 4))) }, "mask (3, 4)|[2 2 3 3]"},
		{"attention mask of one row", func(f form) (*node, error) { return f.attention(x(2, 3, 12), masked(of(mask, 1, 3))) }, "mask (1, 3)|[2 2 3 3]"},
		{"attention mask heads", func(f form) (*node, error) { return f.attention(x(2, 3, 12), masked(of(mask, 2, 3, 3, 3))) }, "mask (2, 3, 3, 3)|[2 2 3 3]"},
		{"attention mask type", func(f form) (*node, error) { return f.attention(x(2, 3, 12), masked(of(single, 3, 3))) }, "float32|bool or float64"},
		{"attention widths", func(f form) (*node, error) {
			return f.scaledDotProductAttention(x(1, 2, 3, 4), x(1, 2, 3, 5), x(1, 2, 3, 4), heads(0))
		}, "1|5|(B, H, Tq, D)"},
		{"attention dropout", func(f form) (*node, error) {
			return f.attention(x(2, 3, 12), graph.AttentionConfig{Heads: 2, Dropout: drop(1, nil)})
		}, "probability 1 is not in [0, 1)"},
		{"dropout probability", func(f form) (*node, error) { return f.dropout(x(2, 3), drop(-0.1, nil)) }, "-0.1|[0, 1)"},
		{"dropout without state", func(f form) (*node, error) { return f.dropout(x(2, 3), drop(0.1, nil)) }, "RNG"},
		{"dropout state type", func(f form) (*node, error) { return f.dropout(x(2, 3), drop(0.1, of(ids, 3))) }, "int32|int64 (3)"},
		{"cross entropy targets", func(f form) (*node, error) { return f.crossEntropy(x(2, 3, 5), of(ids, 2)) }, "[2 3 5], [2]|(N...)"},
		{"cross entropy types", func(f form) (*node, error) { return f.crossEntropy(x(2, 5), x(2)) }, "float64|int32, int64 or int"},
		{"cross entropy sum targets", func(f form) (*node, error) { return first(f.crossEntropySum(x(2, 5), of(ids, 3))) }, "[2 5], [3]"},
	}
	for _, c := range cases {
		for _, f := range forms {
			t.Run(c.name+"/"+f.name, func(t *testing.T) {
				n, err := c.build(f)
				wantError(t, n, err, c.want)
			})
		}
	}
	for _, c := range []errorCase{
		{"matmul inner", func(form) (*node, error) { return graph.MatMul(x(2, 3), x(4, 5), false, false) }, "[2 3], [4 5]|3 and 4"},
		{"matmul leading", func(form) (*node, error) { return graph.MatMul(x(2, 3, 4), x(3, 4, 5), false, false) }, "leading axes"},
		{"reshape", func(form) (*node, error) { return graph.Reshape(x(2, 3), 4) }, "(2, 3)|6|[4]|4"},
		{"transpose", func(form) (*node, error) { return graph.Transpose(x(2, 3), 0, 0) }, "[0 0]|permutation"},
		{"slice", func(form) (*node, error) { return graph.SliceLast(x(2, 3), 1, 4) }, "1..4|(2, 3)"},
		{"split", func(form) (*node, error) {
			p, err := graph.SplitLast(x(2, 5), 3)
			return append(p, nil)[0], err
		}, "(2, 5)|divisible by 3"},
		{"expand", func(form) (*node, error) { return graph.Expand(x(2, 3), 2, 4) }, "(2, 3)|[2 4]"},
		{"reduce", func(form) (*node, error) { return graph.Reduce(x(2, 3), 2) }, "(2, 3)|[2]|rank"},
		{"rowmax", func(form) (*node, error) { return graph.RowMax(x()) }, "scalar"},
		{"softmax axis", func(form) (*node, error) { return graph.SoftmaxAxis(x(2, 3), 2) }, "axis 2|0..1"},
		{"one-hot type", func(form) (*node, error) { return graph.OneHot(of(ids, 2), 3, tensor.Int) }, "type int and 3 classes"},
		{"keepmask", func(form) (*node, error) { return graph.KeepMask(drop(0, nil), tensor.Float64, 2, 3) }, "above 0"},
		{"fill mask", func(form) (*node, error) { return graph.FillWhere(x(2, 3), of(mask, 2), 0) }, "(2)|(2, 3)"},
		{"fill mask type", func(form) (*node, error) { return graph.FillWhere(x(2, 3), of(ids, 2, 3), 0) }, "int32|bool or float64"},
		{"fill future", func(form) (*node, error) { return graph.FillFuture(x(3), 0) }, "(3)|(..., Tq, Tk)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := c.build(fusedForm)
			wantError(t, n, err, c.want)
		})
	}
}

func wantError(t *testing.T, n *node, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, but %v %v; want one with %q", n, n.Shape(), want)
	}
	for _, w := range strings.Split(want, "|") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q lacks %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", err)
	}
	if n != nil {
		t.Errorf("a node comes with the error %q", err)
	}
}

// TestBadIDs runs graphs whose ids are outside the table, on both machines.
func TestBadIDs(t *testing.T) {
	for _, typ := range []tensor.Dtype{tensor.Int32, tensor.Int64, tensor.Int} {
		for name, build := range map[string]func(x, ids *node) (*node, error){
			"embedding": graph.Embedding, "crossentropy": graph.CrossEntropy,
		} {
			for _, engine := range []gradcheck.Engine{gradcheck.Machine, gradcheck.TapeMachine} {
				g := gorgonia.NewGraph()
				x := leaf(g, "x", tensor.Float64, []int{3, 3}, make([]float64, 9))
				out := must(t)(build(x, leaf(g, "ids", typ, []int{3}, []float64{2, 7, 0})))
				launch, err := engine(g, gorgonia.Nodes{out})
				if err == nil {
					_, err = launch()
				}
				if err == nil {
					t.Fatalf("%s of %v: no error for an id of 7 in a table of 3 rows", name, typ)
				}
				for _, want := range []string{name, "7 at position [1]", "0..2"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s of %v: the error %q lacks %q", name, typ, err, want)
					}
				}
			}
		}
	}
}

// TestMergedNodesAreAnError: Gorgonia tells nodes apart by 32-bit hashes, in which these two names collide.
// It keeps the inputs apart, but what is computed from the second it takes for what is computed from the
// first: silently wrong, were it no error.
func TestMergedNodesAreAnError(t *testing.T) {
	g := gorgonia.NewGraph()
	x := leaf(g, "x", tensor.Float64, []int{2, 2}, []float64{1, 0, 0, 1})
	a := leaf(g, "h.346679.w", tensor.Float64, []int{2, 2}, []float64{1, 2, 3, 4})
	b := leaf(g, "h.1160490.w", tensor.Float64, []int{2, 2}, []float64{9, 9, 9, 9})
	if a == b || a.Hashcode() != b.Hashcode() {
		t.Fatalf("hashes %x and %x: this test needs two inputs of equal hash", a.Hashcode(), b.Hashcode())
	}
	if _, err := graph.Linear(x, a, nil); err != nil {
		t.Fatal(err)
	}
	n, err := graph.Linear(x, b, nil)
	wantError(t, n, err, "merged|names")
}

// TestAttributesKeepNodesApart builds pairs of operators on the same input that differ in one attribute:
// Gorgonia must not make one node of them.
func TestAttributesKeepNodesApart(t *testing.T) {
	g := gorgonia.NewGraph()
	x := leaf(g, "x", tensor.Float64, []int{2, 4, 12}, make([]float64, 96))
	w := leaf(g, "w", tensor.Float64, []int{12, 12}, make([]float64, 144))
	b := leaf(g, "b", tensor.Float64, []int{12}, make([]float64, 12))
	state := rng(g)
	n := must(t)
	dropout := func(p float64, site uint32) *node {
		return n(graph.Dropout(x, graph.DropoutConfig{P: p, Site: site, RNG: state}))
	}
	attention := func(heads int, causal bool, site uint32) *node {
		return n(graph.Attention(x, graph.AttentionConfig{Heads: heads, Causal: causal,
			Dropout: graph.DropoutConfig{P: 0.5, RNG: state, Site: site}}))
	}
	nodes := gorgonia.Nodes{
		dropout(0.1, 1), dropout(0.2, 1), dropout(0.1, 2),
		attention(2, false, 1), attention(4, false, 1), attention(2, true, 1), attention(2, false, 2),
		n(graph.Softmax(x)), n(graph.LogSoftmax(x)),
		n(graph.GELU(x)), n(graph.GELUExact(x)), n(graph.ReLU(x)),
		n(graph.LayerNorm(x, b, b, 1e-5)), n(graph.LayerNorm(x, b, b, 1e-6)), n(graph.LayerNormStd(x, b, b, 1e-5)),
		n(graph.Linear(x, w, nil)), n(graph.LinearTransposed(x, w)),
		n(graph.FillFuture(x, 0)), n(graph.FillFuture(x, 1)),
		n(graph.SliceLast(x, 0, 6)), n(graph.SliceLast(x, 6, 12)),
		n(graph.Reshape(x, 4, 2, 12)), n(graph.Transpose(x, 1, 0, 2)),
	}
	seen := map[*node]int{}
	for i, n := range nodes {
		if j, ok := seen[n]; ok {
			t.Errorf("nodes %d and %d are one: %v", j, i, n)
		}
		seen[n] = i
	}
}
