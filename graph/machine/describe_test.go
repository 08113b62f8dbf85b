package machine_test

import (
	"slices"
	"testing"
	"time"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/machine"
)

// visible counts, one by one, the keys that tq queries see of tk.
func visible(tq, tk int, causal bool) int64 {
	var n int64
	for i := range tq {
		for j := range tk {
			if !causal || j <= i {
				n++
			}
		}
	}
	return n
}

// A product of (m, k) and (k, n) matrices has 2*m*n*k operations. Attention multiplies queries with keys and
// weights with values; its gradient makes the scores again and has a product for each of dq, dk, dv and the
// gradient of the weights.
func TestFLOPs(t *testing.T) {
	attention := func(q, k, v []int, c graph.AttentionConfig) func(b *builder) gorgonia.Nodes {
		return func(b *builder) gorgonia.Nodes {
			in := gorgonia.Nodes{b.in(q...), b.in(k...), b.in(v...)}
			return b.grads(b.must(graph.ScaledDotProductAttention(in[0], in[1], in[2], c)), in...)
		}
	}
	for name, c := range map[string]struct {
		build func(b *builder) gorgonia.Nodes
		want  map[string]int64 // by kernel kind
	}{
		"matmul": {func(b *builder) gorgonia.Nodes {
			return gorgonia.Nodes{b.must(graph.MatMul(b.in(2, 3, 5), b.in(2, 5, 7), false, false))}
		}, map[string]int64{"matmul": 2 * 2 * 3 * 5 * 7}},
		"matmul of transposed": {func(b *builder) gorgonia.Nodes {
			return gorgonia.Nodes{b.must(graph.MatMul(b.in(2, 5, 3), b.in(2, 7, 5), true, true))}
		}, map[string]int64{"matmul": 2 * 2 * 3 * 5 * 7}},
		"linear with gradients": {func(b *builder) gorgonia.Nodes {
			x, w := b.in(2, 3, 5), b.in(5, 7)
			return b.grads(b.must(graph.Linear(x, w, b.in(7))), x, w)
		}, map[string]int64{"linear": 2 * 6 * 5 * 7, "linear.wgrad": 2 * 6 * 5 * 7}},
		"transposed linear with gradients": {func(b *builder) gorgonia.Nodes {
			x, w := b.in(2, 3, 5), b.in(7, 5)
			return b.grads(b.must(graph.LinearTransposed(x, w)), x, w)
		}, map[string]int64{"linear": 2 * 6 * 5 * 7, "linear.wgrad": 2 * 6 * 5 * 7}},
		"packed attention": {func(b *builder) gorgonia.Nodes {
			qkv := b.in(2, 5, 18)
			return b.grads(b.must(graph.Attention(qkv, graph.Causal(3))), qkv)
		}, map[string]int64{"attention": 2 * 2 * 6 * 2 * visible(5, 5, true), "attention.grad": 2 * 2 * 6 * 5 * visible(5, 5, true)}},
		"attention by heads": {attention([]int{2, 3, 4, 5}, []int{2, 3, 6, 5}, []int{2, 3, 6, 7}, graph.AttentionConfig{}),
			map[string]int64{"attention": 2 * 6 * (5 + 7) * visible(4, 6, false), "attention.grad": 2 * 6 * (3*5 + 2*7) * visible(4, 6, false)}},
		"causal with more keys": {attention([]int{1, 1, 4, 5}, []int{1, 1, 6, 5}, []int{1, 1, 6, 7}, graph.AttentionConfig{Causal: true}),
			map[string]int64{"attention": 2 * (5 + 7) * visible(4, 6, true)}},
		"causal with fewer keys": {attention([]int{1, 1, 6, 5}, []int{1, 1, 4, 5}, []int{1, 1, 4, 7}, graph.AttentionConfig{Causal: true}),
			map[string]int64{"attention": 2 * (5 + 7) * visible(6, 4, true)}},
		"no product": {func(b *builder) gorgonia.Nodes {
			return gorgonia.Nodes{b.must(graph.GELU(b.in(3, 4)))}
		}, map[string]int64{"activation": 0}},
	} {
		b := newBuilder(t)
		plan, err := machine.Describe(b.g, machine.Outputs(c.build(b)...))
		if err != nil {
			t.Fatal(err)
		}
		for kind, want := range c.want {
			i := slices.IndexFunc(plan.Steps, func(s machine.Step) bool { return s.Kind() == kind })
			if i < 0 || plan.Steps[i].FLOPs != want {
				t.Errorf("%s: %s of %+v; want %d operations", name, kind, plan.Steps, want)
			}
		}
	}
}

// A plan says what each step reads and writes, and where.
func TestDescribe(t *testing.T) {
	b := newBuilder(t)
	x, w := b.in(2, 3, 4), b.in(4, 8)
	y := b.must(graph.Linear(x, w, b.in(8)))
	z := b.must(graph.ReLU(y))
	into := tensor.New(tensor.WithShape(2, 3, 8), tensor.Of(tensor.Float64))
	p, err := machine.Describe(b.g, machine.Outputs(), machine.Into(z, into))
	if err != nil {
		t.Fatal(err)
	}
	// one buffer, and the linear result in the memory of z from the start
	if len(p.Steps) != 2 || p.Nodes != 5 || p.Buffers != 0 || p.Arena != 0 || p.Peak != 0 || p.FLOPs() != 2*6*4*8 {
		t.Errorf("%+v", p)
	}
	linear, relu := p.Steps[0], p.Steps[1]
	const float = 8
	if linear.Kernel != "linear bias" || linear.Node != "in2" || linear.Read != float*(24+32+8) || linear.Written != float*48 ||
		!slices.Equal(linear.Shape, []int{2, 3, 8}) || linear.Offset != -1 || linear.InPlace {
		t.Errorf("%+v", linear)
	}
	if relu.Kernel != "activation kind=relu" || relu.Read != float*48 || relu.Written != float*48 || relu.Offset != -1 || !relu.InPlace {
		t.Errorf("%+v", relu)
	}
	p, err = machine.Describe(b.g, machine.Outputs(y, z))
	if err != nil {
		t.Fatal(err)
	}
	if p.Buffers != 2 || p.Arena != 2*384 || p.Peak != 2*384 || p.Steps[0].Offset == p.Steps[1].Offset || p.Steps[1].InPlace {
		t.Errorf("with both kept: %+v", p)
	}
}

// A timed run computes what a run does, and times each step.
func TestRunTimed(t *testing.T) {
	b := newBuilder(t)
	y := b.linear(b.must(graph.Softmax(b.in(50, 40))), 30)
	m := newMachine(t, b.g, machine.Outputs(y))
	run(t, m)
	want := slices.Clone(floats(y))
	clear(floats(y))
	took := slices.Repeat([]time.Duration{-1}, len(m.Plan().Steps))
	if err := m.RunTimed(took); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(floats(y), want) {
		t.Errorf("a timed run gives %v, want %v", floats(y), want)
	}
	if slices.Min(took) < 0 {
		t.Errorf("times %v; want all of them set", took)
	}
	if err := m.RunTimed(took[1:]); err == nil {
		t.Error("times for too few steps: no error")
	}
	m.Close()
	if p := m.Plan(); p.Steps != nil {
		t.Errorf("the plan of a closed machine is %+v", p)
	}
}
