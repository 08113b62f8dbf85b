package layers

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// encoder returns a block with weights of some size.
func encoder(dt tensor.Dtype) (*Parameters, *Block) {
	p := must(NewParameters(dt))
	b := must(NewBlock(p, "b", Config{Width: 12, Heads: 3, Inner: 20, Init: InitFanIn}))
	p.Init(5)
	return p, b
}

// boolMask hides key k from query q of a sequence of n where hidden says so.
func boolMask(g *gorgonia.ExprGraph, n int, hidden func(q, k int) bool) *gorgonia.Node {
	data := make([]bool, n*n)
	for q := range n {
		for k := range n {
			data[q*n+k] = hidden(q, k)
		}
	}
	v := tensor.New(tensor.WithShape(n, n), tensor.WithBacking(data))
	return gorgonia.NewTensor(g, tensor.Bool, 2, gorgonia.WithShape(n, n), gorgonia.WithName("mask"), gorgonia.WithValue(v))
}

// An encoder block whose mask hides the padding gives, for the tokens, what it gives without padding.
func TestEncoderBlockMask(t *testing.T) {
	eachForm(t, func(t *testing.T, dt tensor.Dtype, composed bool) {
		p, b := encoder(dt)
		forward := func(n int, mask func(*gorgonia.ExprGraph) Mask) []float64 {
			g := gorgonia.NewGraph()
			s := NewScope(g, p)
			s.Composed = composed
			x := randomArray(1, 1, 7, 12)
			x.Shape, x.Data = []int{1, n, 12}, x.Data[:n*12]
			y := must(b.Forward(s, x.input(g, "x", dt), mask(g)))
			run(t, g, y)
			return floats(y)
		}
		none := func(*gorgonia.ExprGraph) Mask { return Mask{} }
		hide := func(hidden func(q, k int) bool) func(*gorgonia.ExprGraph) Mask {
			return func(g *gorgonia.ExprGraph) Mask { return Mask{Node: boolMask(g, 7, hidden)} }
		}
		tol := 1e-12
		if dt == tensor.Float32 {
			tol = 1e-5
		}
		padded := forward(7, hide(func(q, k int) bool { return k >= 5 }))
		near(t, "tokens beside padding", padded[:5*12], forward(5, none), tol)
		if relative(forward(7, none)[:5*12], padded[:5*12]) < 1e-3 {
			t.Error("the padding makes no difference even unmasked")
		}
		causal := forward(7, func(*gorgonia.ExprGraph) Mask { return Mask{Causal: true} })
		near(t, "causal mask as bool", forward(7, hide(func(q, k int) bool { return k > q })), causal, tol)
	})
}

func TestAttentionWeights(t *testing.T) {
	p, b := encoder(tensor.Float64)
	g := gorgonia.NewGraph()
	s := NewScope(g, p)
	s.Composed, s.Train = true, true
	b.Attention.Dropout = 0.5 // the weights are those before dropout
	must(b.Forward(s, randomArray(1, 2, 4, 12).input(g, "x", tensor.Float64), Mask{Causal: true}))
	w := s.AttentionWeights[0] // (B, H, T, T)
	run(t, g, w)
	rows := floats(w)
	if len(rows) != 2*3*4*4 {
		t.Fatalf("weights %v, want (2, 3, 4, 4)", w.Shape())
	}
	for r := range 2 * 3 * 4 {
		sum, row := 0.0, rows[r*4:r*4+4]
		for k, v := range row {
			sum += v
			if k > r%4 && v != 0 {
				t.Errorf("query %d weighs later key %d with %v", r%4, k, v)
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("row %d sums to %v", r, sum)
		}
	}
}

// A value of its own may differ from the key; left out, it is the key.
func TestCrossAttentionValue(t *testing.T) {
	p := must(NewParameters(tensor.Float64))
	l := must(NewCrossAttention(p, "a", Config{Width: 8, Heads: 2, Init: InitFanIn}))
	p.Init(1)
	forward := func(separate bool, seed int) []float64 {
		g := gorgonia.NewGraph()
		q, k := randomArray(1, 2, 3, 8).input(g, "q", tensor.Float64), randomArray(2, 2, 5, 8).input(g, "k", tensor.Float64)
		var v *gorgonia.Node
		if separate {
			v = randomArray(seed, 2, 5, 8).input(g, "v", tensor.Float64)
		}
		y := must(l.Forward(NewScope(g, p), q, k, v, Mask{}))
		run(t, g, y)
		return floats(y)
	}
	near(t, "equal value", forward(true, 2), forward(false, 0), 0)
	if relative(forward(true, 3), forward(false, 0)) < 1e-3 {
		t.Error("another value makes no difference")
	}
}

func TestLayerErrors(t *testing.T) {
	p := must(NewParameters(tensor.Float32))
	_, heads := NewMultiHeadAttention(p, "m", Config{Width: 10, Heads: 3})
	_, noHeads := NewCrossAttention(p, "c", Config{Width: 10})
	_, act := NewFeedForward(p, "f", Config{Width: 4, Activation: "tanh"})
	l := must(NewLinear(p, "taken", 4, 3, true, Initial{}))
	_, again := NewLinear(p, "taken", 4, 3, true, Initial{})
	cross := must(NewCrossAttention(p, "x", Config{Width: 4, Heads: 2}))
	b := must(NewBlock(p, "b", Config{Width: 4, Heads: 2}))

	g := gorgonia.NewGraph()
	s := NewScope(g, p)
	s.Train = true
	x := randomArray(1, 2, 3, 5).input(g, "x", tensor.Float32)
	x4 := randomArray(1, 2, 3, 4).input(g, "x4", tensor.Float32)
	flat := randomArray(1, 3, 4).input(g, "flat", tensor.Float32)
	_, width := l.Forward(s, x)
	_, rank := cross.Forward(s, flat, nil, nil, Mask{})
	_, mask := b.Forward(s, x4, Mask{Node: boolMask(g, 4, func(q, k int) bool { return false })})
	_, drop := Dropout{P: 1}.Forward(s, x)
	_, param := s.Param("nobody")
	for _, c := range []struct {
		err  error
		want []string
	}{
		{heads, []string{"m", "10", "3 heads"}},
		{noHeads, []string{"c", "10", "0 heads"}},
		{act, []string{"f", `"tanh"`, "relu"}},
		{again, []string{"taken.weight"}},
		{width, []string{"taken", "(2, 3, 5)", "4"}},
		{rank, []string{"x.query", "(3, 4)", "(B, T, C)"}},
		{mask, []string{"b.attn", "(4, 4)", "[2 2 3 3]"}},
		{drop, []string{"dropout", "1"}},
		{param, []string{`"nobody"`}},
	} {
		for _, w := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), w) {
				t.Errorf("error %v, want it to say %q", c.err, w)
			}
		}
	}
}
