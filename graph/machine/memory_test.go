package machine_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/machine"
)

// find returns the steps of a plan whose kernel begins so.
func find(p machine.Plan, kernel string) []machine.Step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(s machine.Step) bool { return !strings.HasPrefix(s.Kernel, kernel) })
}

// The two gradients of a table that is embedding and output matrix are added up in the memory of their sum,
// wherever that is.
func TestSumInPlace(t *testing.T) {
	const rows, width = 50, 16
	b := newBuilder(t)
	table := b.in(rows, width)
	x := b.must(graph.Embedding(table, b.ids(rows, 2, 3)))
	grads := b.grads(b.must(graph.LinearTransposed(b.must(graph.Softmax(x)), table)), table)
	run(t, newMachine(t, b.g))
	want := slices.Clone(floats(grads[0]))

	into := tensor.New(tensor.WithShape(rows, width), tensor.Of(tensor.Float64))
	for name, opts := range map[string][]machine.Option{
		"in the arena": {machine.Outputs(grads...)},
		"outside":      {machine.Outputs(), machine.Into(grads[0], into)},
	} {
		m := newMachine(t, b.g, opts...)
		for range 2 { // what the first run left there does not count
			run(t, m)
		}
		products, sums := find(m.Plan(), "linear.wgrad"), find(m.Plan(), "embedding.grad")
		if len(products) != 1 || len(sums) != 1 || !sums[0].InPlace || products[0].Offset != sums[0].Offset {
			t.Errorf("%s: %+v and %+v do not lie in one place", name, products, sums)
		}
		got := floats(grads[0])
		if name == "outside" {
			got = into.Float64s()
			if sums[0].Offset != -1 || m.Bytes() >= 8*rows*width {
				t.Errorf("outside: offset %d, %d bytes for other results", sums[0].Offset, m.Bytes())
			}
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-13 {
				t.Fatalf("%s: element %d is %v, want %v", name, i, got[i], want[i])
			}
		}
	}
}

// The gradient of logits takes their place, unless they are kept.
func TestLossInPlace(t *testing.T) {
	b := newBuilder(t)
	x, w := b.in(6, 4), b.in(4, 9)
	logits := b.must(graph.Linear(x, w, nil))
	loss := b.must(graph.CrossEntropy(logits, b.ids(9, 6)))
	grads, err := gorgonia.Grad(loss, w)
	if err != nil {
		t.Fatal(err)
	}
	run(t, newMachine(t, b.g))
	want := slices.Clone(floats(logits))
	for _, outputs := range []gorgonia.Nodes{{loss, grads[0]}, {loss, grads[0], logits}} {
		m := newMachine(t, b.g, machine.Outputs(outputs...))
		run(t, m)
		kept := len(outputs) == 3
		if s := find(m.Plan(), "crossentropy.both"); len(s) != 1 || s[0].InPlace == kept {
			t.Errorf("logits kept %v: %+v", kept, s)
		}
		if kept && !slices.Equal(floats(logits), want) {
			t.Errorf("the logits are %v, want %v", floats(logits), want)
		}
	}
}

// A layer norm's gradient is added up where the gradient that went around the norm lies.
func TestNormGradInPlace(t *testing.T) {
	b := newBuilder(t)
	x, scale, shift := b.in(5, 4), b.in(4), b.in(4)
	h := b.linear(x, 4)
	y := b.add(h, b.must(graph.Softmax(b.must(graph.LayerNorm(h, scale, shift, 1e-5)))))
	grads := b.grads(y, x, scale, shift)
	m := newMachine(t, b.g, machine.Outputs(grads...))
	if s := find(m.Plan(), "layernorm.grad"); len(s) != 1 || !s[0].InPlace {
		t.Errorf("%+v is not in place", s)
	}
}

// normChain is a layer norm of x (rows, 64) whose result is read at once and, after many steps, again by the
// gradient of the weight.
func normChain(b *builder, rows int) gorgonia.Nodes {
	x, w := b.in(rows, 64), b.in(64, 64)
	n := b.must(graph.LayerNorm(x, b.in(64), b.in(64), 1e-5))
	y := b.must(graph.Linear(n, w, nil))
	for range 6 {
		y = b.must(graph.Softmax(y))
	}
	return b.grads(y, x, w)
}

// A large layer norm that is read again much later is computed again, to the same bits, and not kept meanwhile.
func TestRecompute(t *testing.T) {
	for _, k := range []struct {
		rows  int
		again bool
	}{{2048, true}, {2047, false}} { // 2048*64*8 bytes are 1 MiB
		b := newBuilder(t)
		outputs := normChain(b, k.rows)
		m := newMachine(t, b.g, machine.Outputs(outputs...))
		again := 0
		for i, s := range m.Plan().Steps {
			if s.Again {
				again++
				if next := m.Plan().Steps[i+1]; s.Kernel != "layernorm eps=1e-05" || next.Kernel != "linear.wgrad" {
					t.Errorf("%q again before %q", s.Kernel, next.Kernel)
				}
			}
		}
		if (again == 1) != k.again || again > 1 {
			t.Errorf("%d rows: %d layer norms again, want it: %v", k.rows, again, k.again)
		}
		run(t, newMachine(t, b.g))
		var want [][]float64
		for _, n := range outputs {
			want = append(want, slices.Clone(floats(n)))
		}
		run(t, m)
		for i, n := range outputs {
			if !slices.Equal(floats(n), want[i]) {
				t.Errorf("%d rows: output %d differs", k.rows, i)
			}
		}
	}
}

// Nothing is computed again if that would keep what it is computed from, or if others see it in another shape.
func TestNotRecomputed(t *testing.T) {
	const rows = 2048
	for name, build := range map[string]func(b *builder, x, w, scale, shift *gorgonia.Node) *gorgonia.Node{
		"input gone": func(b *builder, x, w, scale, shift *gorgonia.Node) *gorgonia.Node {
			return b.must(graph.Linear(b.must(graph.LayerNorm(b.must(graph.Softmax(x)), scale, shift, 1e-5)), w, nil))
		},
		"other shape": func(b *builder, x, w, scale, shift *gorgonia.Node) *gorgonia.Node {
			n := b.must(graph.LayerNorm(x, scale, shift, 1e-5))
			return b.must(graph.Linear(b.must(graph.Reshape(n, 2, rows/2, 64)), w, nil))
		},
	} {
		b := newBuilder(t)
		w := b.in(64, 64)
		y := build(b, b.in(rows, 64), w, b.in(64), b.in(64))
		for range 6 {
			y = b.must(graph.Softmax(y))
		}
		plan, err := machine.Describe(b.g, machine.Outputs(b.grads(y, w)...))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Steps {
			if s.Again {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// Gradients that go outside are computed as soon as they can be: what they read is free then.
func TestAdvance(t *testing.T) {
	b := newBuilder(t)
	x, w := b.in(5, 4), b.in(4, 4)
	y := b.must(graph.Softmax(b.must(graph.Linear(b.must(graph.Softmax(x)), w, nil))))
	grads := b.grads(y, w, x)
	into := tensor.New(tensor.WithShape(4, 4), tensor.Of(tensor.Float64))
	plan, err := machine.Describe(b.g, machine.Outputs(grads[1]), machine.Into(grads[0], into))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range plan.Steps {
		if s.Kernel == "linear.wgrad" && plan.Steps[i-1].Kernel != "softmax.grad" {
			t.Errorf("the gradient of w comes after %q, want it after the softmax's gradient", plan.Steps[i-1].Kernel)
		}
	}
}

// A machine that shares another's memory gives the same values in turn with it, and takes its own memory if
// that of the other is too small.
func TestSharing(t *testing.T) {
	b := newBuilder(t)
	x := b.in(40, 4)
	y := b.linear(b.must(graph.Softmax(x)), 4)
	z := b.must(graph.Transpose(y, 1, 0))
	large := newMachine(t, b.g, machine.Outputs(z))
	small := newMachine(t, b.g, machine.Outputs(y), machine.Sharing(large))
	values := func(m *machine.Machine, n *gorgonia.Node) []float64 {
		run(t, m)
		return slices.Clone(floats(n))
	}
	wantZ, wantY := values(large, z), values(small, y)
	if gotZ := values(large, z); !slices.Equal(gotZ, wantZ) {
		t.Errorf("%v after the other machine ran, want %v", gotZ, wantZ)
	}
	if gotY := values(small, y); !slices.Equal(gotY, wantY) {
		t.Errorf("%v after the other machine ran, want %v", gotY, wantY)
	}
	run(t, large)
	address := &floats(z)[0]
	larger := newMachine(t, b.g, machine.Sharing(large))
	run(t, larger)
	if larger.Bytes() <= large.Bytes() || &floats(z)[0] == address {
		t.Errorf("a machine of %d bytes runs in the %d of another", larger.Bytes(), large.Bytes())
	}
}
