package graph_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/gradcheck"
)

// Values that other tools got wrong, computed by hand or from closed forms; each test runs both forms.

// TestAttentionScale: scores are divided by the root of the head size, neither of the width nor at all.
func TestAttentionScale(t *testing.T) {
	for _, c := range []struct {
		size  int // of a head: the query is all ones, key 0 too, key 1 is 0, so that q·k = size and 0
		first float64
	}{{4, 0.88079708}, {3, 0.84967455}} {
		for _, f := range forms {
			g := gorgonia.NewGraph()
			ones := slices.Repeat([]float64{1}, c.size)
			q := leaf(g, "q", tensor.Float64, []int{1, 1, 1, c.size}, ones)
			k := leaf(g, "k", tensor.Float64, []int{1, 1, 2, c.size}, append(ones, make([]float64, c.size)...))
			v := leaf(g, "v", tensor.Float64, []int{1, 1, 2, 2}, []float64{1, 0, 0, 1}) // shows the weights
			got := run(t, gradcheck.Machine, must(t)(f.scaledDotProductAttention(q, k, v, graph.AttentionConfig{})))
			wantClose(t, fmt.Sprintf("%s weights for heads of %d", f.name, c.size), got[0], []float64{c.first, 1 - c.first}, 1e-8)
		}
	}
}

// TestCausalRows: query i averages the values 0..i.
func TestCausalRows(t *testing.T) {
	for _, f := range forms {
		g := gorgonia.NewGraph()
		q := leaf(g, "q", tensor.Float64, []int{1, 1, 3, 2}, []float64{1, 0, 0, 1, 1, 1})
		v := leaf(g, "v", tensor.Float64, []int{1, 1, 3, 2}, []float64{1, 2, 3, 4, 5, 6})
		y := must(t)(f.scaledDotProductAttention(q, q, v, graph.AttentionConfig{Causal: true}))
		want := []float64{1, 2, 2.3395231, 3.3395231, 3.51046953, 4.51046953}
		wantClose(t, f.name, run(t, gradcheck.Machine, y)[0], want, 1e-8)
	}
}

// TestFutureIsNotSeen: another token at position 3 leaves the results before it as they are, to the bit,
// however different it is.
func TestFutureIsNotSeen(t *testing.T) {
	const n, width = 6, 4
	for _, f := range forms {
		attend := func(change float64) []float64 {
			x := random(4, n*3*width)
			for i := 3 * 3 * width; i < 4*3*width; i++ {
				x[i] += change
			}
			qkv := leaf(gorgonia.NewGraph(), "qkv", tensor.Float32, []int{1, n, 3 * width}, x)
			return run(t, gradcheck.Machine, must(t)(f.attention(qkv, graph.Causal(2))))[0]
		}
		want := attend(0)
		for _, change := range []float64{0.5, -3, 1e18} {
			got := attend(change)
			if !slices.Equal(got[:3*width], want[:3*width]) {
				t.Errorf("%s: results before position 3 changed with it by %v", f.name, change)
			}
			if slices.Equal(got[3*width:4*width], want[3*width:4*width]) {
				t.Errorf("%s: the result at position 3 did not change with it by %v", f.name, change)
			}
		}
	}
}

// TestHiddenKeyDoesNotLeak: a hidden key may hold any finite number.
func TestHiddenKeyDoesNotLeak(t *testing.T) {
	for _, f := range forms {
		attend := func(hidden float64) []float64 {
			g := gorgonia.NewGraph()
			q := leaf(g, "q", tensor.Float32, []int{1, 1, 2, 2}, []float64{1, 2, 3, 4})
			k := leaf(g, "k", tensor.Float32, []int{1, 1, 2, 2}, []float64{1, -1, hidden, hidden})
			v := leaf(g, "v", tensor.Float32, []int{1, 1, 2, 2}, []float64{5, 6, hidden, -hidden})
			mask := leaf(g, "mask", tensor.Bool, []int{2, 2}, []float64{0, 1, 0, 1})
			return run(t, gradcheck.Machine, must(t)(f.scaledDotProductAttention(q, k, v, graph.AttentionConfig{Mask: mask})))[0]
		}
		for _, hidden := range []float64{0, 1e10} {
			wantClose(t, f.name, attend(hidden), []float64{5, 6, 5, 6}, 0)
		}
	}
}

// TestHiddenRows: with everything hidden a bool mask lets the row attend evenly, an additive -Inf gives it
// zeros; gradients are finite, and 0 for the zero row.
func TestHiddenRows(t *testing.T) {
	for _, f := range forms {
		for _, kind := range []tensor.Dtype{tensor.Bool, tensor.Float64} {
			hide, want := 1.0, []float64{0.5, 0.5}
			if kind == tensor.Float64 {
				hide, want = math.Inf(-1), []float64{0, 0}
			}
			g := gorgonia.NewGraph()
			q := leaf(g, "q", tensor.Float64, []int{1, 1, 2, 2}, random(1, 4))
			k := leaf(g, "k", tensor.Float64, []int{1, 1, 2, 2}, random(2, 4))
			v := leaf(g, "v", tensor.Float64, []int{1, 1, 2, 2}, []float64{1, 0, 0, 1})
			mask := leaf(g, "mask", kind, []int{2, 2}, []float64{hide, hide, 0, 0})
			y := must(t)(f.scaledDotProductAttention(q, k, v, graph.AttentionConfig{Mask: mask}))
			grads, err := gorgonia.Grad(must(t)(weighted(y, []float64{1, 2, 3, 4})), q, k, v)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, gradcheck.Machine, append(gorgonia.Nodes{y}, grads...)...)
			wantClose(t, fmt.Sprintf("%s, %v mask: hidden row", f.name, kind), got[0][:2], want, 0)
			for _, d := range slices.Concat(got[1:]...) {
				if math.IsNaN(d) || math.IsInf(d, 0) {
					t.Errorf("%s, %v mask: gradients %v", f.name, kind, got[1:])
					break
				}
			}
			if kind == tensor.Float64 {
				wantClose(t, f.name+": gradient of the zero row's query", got[1][:2], []float64{0, 0}, 0)
			}
		}
	}
}

// TestGELUForms tells the tanh form from the exact one.
func TestGELUForms(t *testing.T) {
	in := []float64{-3, -1, -0.5, 1, 3}
	for _, f := range forms {
		g := gorgonia.NewGraph()
		x := leaf(g, "x", tensor.Float64, []int{5}, in)
		got := run(t, gradcheck.Machine, must(t)(f.gelu(x)), must(t)(f.geluExact(x)))
		wantClose(t, f.name+" gelu", got[0], []float64{-0.003637392, -0.158808009, -0.154285990, 0.841191991, 2.996362608}, 1e-9)
		wantClose(t, f.name+" exact gelu", got[1], []float64{-0.004049694, -0.158655254, -0.154268769, 0.841344746, 2.995950306}, 1e-9)
	}
}

// TestReLUCorner: ReLU and its gradient are 0 at 0, and neither is NaN at infinities.
func TestReLUCorner(t *testing.T) {
	for _, f := range forms {
		x := leaf(gorgonia.NewGraph(), "x", tensor.Float64, []int{5}, []float64{math.Inf(-1), -1, 0, 2, math.Inf(1)})
		y := must(t)(f.relu(x))
		grads, err := gorgonia.Grad(must(t)(weighted(y, []float64{1, 2, 3, 4, 5})), x)
		if err != nil {
			t.Fatal(err)
		}
		got := run(t, gradcheck.Machine, y, grads[0])
		if !slices.Equal(got[0], []float64{0, 0, 0, 2, math.Inf(1)}) || !slices.Equal(got[1], []float64{0, 0, 0, 4, 5}) {
			t.Errorf("%s: values %v, gradient %v", f.name, got[0], got[1])
		}
	}
}

// TestLayerNormVariance: the variance is biased and epsilon inside the root; rows of equal values are safe.
func TestLayerNormVariance(t *testing.T) {
	for _, c := range []struct{ x, y, upstream, dx []float64 }{
		{[]float64{1, 0, 0, 0}, []float64{1.73200462, -0.577334874, -0.577334874, -0.577334874}, nil, nil},
		{[]float64{1, 2, 3, 4}, []float64{-1.34163542, -0.447211807, 0.447211807, 1.34163542},
			[]float64{1, 0, 0, 0}, []float64{0.268330304, -0.357768372, -0.0894434346, 0.178881503}},
		{[]float64{0.001, -0.001}, []float64{0.301511345, -0.301511345}, nil, nil},
		{[]float64{5, 5, 5, 5}, []float64{0, 0, 0, 0},
			[]float64{1, 2, 3, 4}, []float64{-474.341649, -158.113883, 158.113883, 474.341649}},
		{slices.Repeat([]float64{1234}, 256), make([]float64, 256), nil, nil},
	} {
		for _, f := range forms {
			g := gorgonia.NewGraph()
			n := len(c.x)
			x := leaf(g, "x", tensor.Float64, []int{1, n}, c.x)
			y := must(t)(f.layerNorm(x, leaf(g, "weight", tensor.Float64, []int{n}, slices.Repeat([]float64{1}, n)),
				leaf(g, "bias", tensor.Float64, []int{n}, make([]float64, n)), 1e-5))
			up := c.upstream
			if up == nil {
				up = make([]float64, n)
			}
			grads, err := gorgonia.Grad(must(t)(weighted(y, up)), x)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, gradcheck.Machine, y, grads[0])
			wantClose(t, fmt.Sprintf("%s layernorm of %.4v", f.name, c.x[:2]), got[0], c.y, 1e-8)
			if c.dx != nil {
				wantClose(t, fmt.Sprintf("%s gradient at %.4v", f.name, c.x[:2]), got[1], c.dx, 1e-8)
			}
		}
	}
}

// TestLayerNormStdOfConstantRow: with the deviation 0, the gradient is that of (x-mean)/eps.
func TestLayerNormStdOfConstantRow(t *testing.T) {
	for _, f := range forms {
		g := gorgonia.NewGraph()
		x := leaf(g, "x", tensor.Float64, []int{1, 4}, []float64{5, 5, 5, 5})
		y := must(t)(f.layerNormStd(x, leaf(g, "weight", tensor.Float64, []int{4}, []float64{1, 1, 1, 1}),
			leaf(g, "bias", tensor.Float64, []int{4}, make([]float64, 4)), 1e-6))
		grads, err := gorgonia.Grad(must(t)(weighted(y, []float64{1, 2, 3, 4})), x)
		if err != nil {
			t.Fatal(err)
		}
		got := run(t, gradcheck.Machine, y, grads[0])
		wantClose(t, f.name, got[0], make([]float64, 4), 0)
		wantClose(t, f.name+" gradient", got[1], []float64{-1.5e6, -0.5e6, 0.5e6, 1.5e6}, 1e-12)
	}
}

// TestDropoutKeepsTheMean: what stays is divided by the probability to stay; without dropout the node is x.
func TestDropoutKeepsTheMean(t *testing.T) {
	for _, f := range forms {
		g := gorgonia.NewGraph()
		x := leaf(g, "x", tensor.Float32, []int{2, 50000}, slices.Repeat([]float64{3}, 100000))
		y := run(t, gradcheck.Machine, must(t)(f.dropout(x, graph.DropoutConfig{P: 0.25, RNG: rng(g), Site: 1})))[0]
		zeros, sum := 0, 0.0
		for _, v := range y {
			if v == 0 {
				zeros++
			} else if v != 4 {
				t.Fatalf("%s: %v is neither 0 nor 4", f.name, v)
			}
			sum += v
		}
		if share := float64(zeros) / 1e5; math.Abs(share-0.25) > 0.007 || math.Abs(sum/1e5-3) > 0.03 {
			t.Errorf("%s: %v of the elements are 0, the mean is %v; want 0.25 and 3", f.name, share, sum/1e5)
		}
		if same := must(t)(f.dropout(x, graph.DropoutConfig{})); same != x {
			t.Errorf("%s: dropout with probability 0 is %v, not its input", f.name, same)
		}
	}
}

// TestRepeatedIDsAddUp: the gradients of an id that occurs twice are added.
func TestRepeatedIDsAddUp(t *testing.T) {
	for _, f := range forms {
		g := gorgonia.NewGraph()
		table := leaf(g, "table", tensor.Float64, []int{3, 1}, []float64{1, 2, 3})
		y := must(t)(f.embedding(table, leaf(g, "ids", tensor.Int32, []int{3}, []float64{0, 0, 1})))
		grads, err := gorgonia.Grad(must(t)(weighted(y, []float64{0.2, 0.3, 0.7})), table)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, gradcheck.Machine, grads[0])[0]; !slices.Equal(got, []float64{0.5, 0.7, 0}) {
			t.Errorf("%s: gradient %v, want [0.5 0.7 0]", f.name, got)
		}
	}
}

// TestCrossEntropyCounts: the sum and the number of counted targets, and nothing when none counts.
func TestCrossEntropyCounts(t *testing.T) {
	for _, f := range forms {
		for _, c := range []struct {
			targets     []float64
			loss, count float64
		}{
			{[]float64{1, graph.IgnoreIndex, 0}, 2 * math.Log(4), 2}, // even logits: log 4 each
			{[]float64{graph.IgnoreIndex, graph.IgnoreIndex, graph.IgnoreIndex}, 0, 0},
		} {
			g := gorgonia.NewGraph()
			x := leaf(g, "x", tensor.Float64, []int{3, 4}, slices.Repeat([]float64{7}, 12))
			targets := leaf(g, "targets", tensor.Int32, []int{3}, c.targets)
			sum, count, err := f.crossEntropySum(x, targets)
			if err != nil {
				t.Fatal(err)
			}
			mean := must(t)(f.crossEntropy(x, targets))
			got := run(t, gradcheck.Machine, sum, count, mean)
			want := [][]float64{{c.loss}, {c.count}, {c.loss / max(1, c.count)}}
			for i, what := range []string{"sum", "count", "mean"} {
				wantClose(t, f.name+" "+what, got[i], want[i], 1e-14)
			}
		}
	}
}
