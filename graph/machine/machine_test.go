package machine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/machine"
	"tinylm/internal/device/cpu"
)

// must returns a node or ends the test.
func must(t *testing.T) func(*gorgonia.Node, error) *gorgonia.Node {
	return func(n *gorgonia.Node, err error) *gorgonia.Node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// input adds a float64 leaf with the given elements.
func input(g *gorgonia.ExprGraph, name string, data []float64, shape ...int) *gorgonia.Node {
	return gorgonia.NewTensor(g, tensor.Float64, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
}

func floats(n *gorgonia.Node) []float64 {
	switch d := n.Value().Data().(type) {
	case []float64:
		return d
	case float64:
		return []float64{d}
	}
	panic(fmt.Sprintf("value of %v is %T", n, n.Value().Data()))
}

func newMachine(t *testing.T, g *gorgonia.ExprGraph, opts ...machine.Option) *machine.Machine {
	t.Helper()
	m, err := machine.New(g, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func run(t *testing.T, m gorgonia.VM) {
	t.Helper()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
}

// y = x·w + b by hand: (1, 2)·((1, 0), (0, 10)) + (0.5, 0.25).
func TestLinearByHand(t *testing.T) {
	g := gorgonia.NewGraph()
	x, w := input(g, "x", []float64{1, 2}, 1, 2), input(g, "w", []float64{1, 0, 0, 10}, 2, 2)
	b := input(g, "b", []float64{0.5, 0.25}, 2)
	y := must(t)(graph.Linear(x, w, b))
	run(t, newMachine(t, g, machine.Outputs(y)))
	if got := floats(y); got[0] != 1.5 || got[1] != 20.25 {
		t.Errorf("y = %v, want [1.5 20.25]", got)
	}
}

// The loss of a line has gradients x and 1, read in every way that Gorgonia offers.
func TestGradientAccess(t *testing.T) {
	g := gorgonia.NewGraph()
	x, w := input(g, "x", []float64{3, 5}, 1, 2), input(g, "w", []float64{1, 2}, 2, 1)
	y := must(t)(graph.Linear(x, w, nil))
	loss := must(t)(gorgonia.Sum(y))
	grads, err := gorgonia.Grad(loss, w)
	if err != nil {
		t.Fatal(err)
	}
	var read gorgonia.Value
	gorgonia.Read(loss, &read)
	into := tensor.New(tensor.WithShape(2, 1), tensor.Of(tensor.Float64))
	run(t, newMachine(t, g, machine.Outputs(grads...), machine.Into(grads[0], into)))
	if got := into.Float64s(); got[0] != 3 || got[1] != 5 {
		t.Errorf("gradient placed by Into is %v, want [3 5]", got)
	}
	v, err := w.Grad()
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Data().([]float64); got[0] != 3 || got[1] != 5 {
		t.Errorf("w.Grad() is %v, want [3 5]", got)
	}
	if read == nil || read.Data().(float64) != 13 {
		t.Errorf("gorgonia.Read gave %v, want 13", read)
	}
}

// Inputs may change in place or be bound to other memory between runs.
func TestRebinding(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", []float64{1, 2}, 2)
	y := must(t)(graph.Add(x, x))
	z := must(t)(graph.Reshape(y, 2, 1))
	m := newMachine(t, g, machine.Outputs(z))
	run(t, m)
	x.Value().Data().([]float64)[0] = 10
	run(t, m)
	if got := floats(z); got[0] != 20 || got[1] != 4 {
		t.Errorf("after a change in place: %v, want [20 4]", got)
	}
	if err := gorgonia.Let(x, tensor.New(tensor.WithShape(2), tensor.WithBacking([]float64{7, 8}))); err != nil {
		t.Fatal(err)
	}
	run(t, m)
	if got := floats(z); got[0] != 14 || got[1] != 16 {
		t.Errorf("after gorgonia.Let: %v, want [14 16]", got)
	}
	// a transposed view has gaps between its elements
	wide := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{1, 2, 3, 4}))
	column, err := wide.Slice(nil, gorgonia.S(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := gorgonia.Let(x, column); err != nil {
		t.Fatal(err)
	}
	run(t, m)
	if got := floats(z); got[0] != 4 || got[1] != 8 {
		t.Errorf("a strided view: %v, want [4 8]", got)
	}
	wide.Float64s()[1] = 100
	run(t, m)
	if got := floats(z); got[0] != 200 {
		t.Errorf("a strided view changed in place: %v, want [200 8]", got)
	}
}

func TestErrorsNameTheNode(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewTensor(g, tensor.Float64, 1, gorgonia.WithShape(2), gorgonia.WithName("unbound"))
	y := must(t)(graph.ReLU(x))
	m := newMachine(t, g, machine.Outputs(y))
	if err := m.RunAll(); err == nil || !strings.Contains(err.Error(), "unbound") {
		t.Errorf("run without a value: %v; want an error naming the input", err)
	}

	g = gorgonia.NewGraph()
	table := input(g, "table", []float64{1, 2, 3, 4}, 2, 2)
	ids := gorgonia.NewTensor(g, tensor.Int32, 1, gorgonia.WithShape(1), gorgonia.WithName("ids"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(1), tensor.WithBacking([]int32{9}))))
	rows := must(t)(graph.Embedding(table, ids))
	m = newMachine(t, g, machine.Outputs(rows))
	if err := m.RunAll(); err == nil || !strings.Contains(err.Error(), "9") || !strings.Contains(err.Error(), "embedding") {
		t.Errorf("id out of range: %v; want an error naming operator and id", err)
	}
}

// Stock operators with wrong gradients are refused, each by its name and with what to use.
func TestRefusesWrongOperators(t *testing.T) {
	for name, build := range map[string]func(x *gorgonia.Node) (*gorgonia.Node, error){
		"Dropout":     func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Dropout(x, 0.5) },
		"InverseSqrt": gorgonia.InverseSqrt,
		"ByIndices": func(x *gorgonia.Node) (*gorgonia.Node, error) {
			i := gorgonia.NewTensor(x.Graph(), tensor.Int, 1, gorgonia.WithShape(1), gorgonia.WithName("i"),
				gorgonia.WithValue(tensor.New(tensor.WithShape(1), tensor.WithBacking([]int{0}))))
			return gorgonia.ByIndices(x, i, 1)
		},
	} {
		g := gorgonia.NewGraph()
		must(t)(build(input(g, "x", []float64{1, 2, 3, 4}, 2, 2)))
		if _, err := machine.New(g); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v; want it refused", name, err)
		}
	}
}

// Stock SoftMax is wrong for values far apart (Gorgonia subtracts a wrong maximum); here it is right.
func TestStockSoftMax(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewTensor(g, tensor.Float32, 2, gorgonia.WithName("x"), gorgonia.WithShape(2, 3),
		gorgonia.WithValue(tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{-431, 279, 427, 1000, 1001, 1002}))))
	y := must(t)(gorgonia.SoftMax(x))
	run(t, newMachine(t, g, machine.Outputs(y)))
	want := []float64{0, 0, 1, 0.0900305732, 0.2447284711, 0.6652409558}
	for i, v := range y.Value().Data().([]float32) {
		if math.Abs(float64(v)-want[i]) > 1e-6 {
			t.Errorf("element %d is %v, want %v", i, v, want[i])
		}
	}
}

// randomGraph builds a graph of operators that reshape, share, overwrite, add and multiply, and beside each node its
// value computed plainly.
func randomGraph(t *testing.T, g *gorgonia.ExprGraph, r *rand.Rand, size int) (nodes []*gorgonia.Node, want [][]float64) {
	add := func(n *gorgonia.Node, v []float64) { nodes, want = append(nodes, n), append(want, v) }
	for i := range 3 {
		v := make([]float64, 6)
		for j := range v {
			v[j] = math.Round(r.NormFloat64()*8) / 4 // sums and products are exact
		}
		add(input(g, fmt.Sprint("x", i), append([]float64(nil), v...), 2, 3), v)
	}
	for range size {
		i, j := r.IntN(len(nodes)), r.IntN(len(nodes))
		x, v := nodes[i], want[i]
		switch rows, cols := x.Shape()[0], x.Shape()[1]; r.IntN(8) {
		case 0:
			add(must(t)(graph.Reshape(x, cols, rows)), v)
		case 1:
			add(must(t)(gorgonia.Reshape(x, tensor.Shape{cols, rows})), v)
		case 2:
			w := make([]float64, len(v))
			for a := range rows {
				for b := range cols {
					w[b*rows+a] = v[a*cols+b]
				}
			}
			add(must(t)(graph.Transpose(x, 1, 0)), w)
		case 3:
			w := make([]float64, len(v))
			for k := range v {
				w[k] = max(v[k], 0)
			}
			add(must(t)(graph.ReLU(x)), w)
		case 4, 5:
			m := make([]float64, cols*cols)
			for k := range m {
				m[k] = float64(r.IntN(3) - 1)
			}
			w := make([]float64, len(v))
			for k := range w {
				for c := range cols {
					w[k] += v[k/cols*cols+c] * m[c*cols+k%cols]
				}
			}
			add(must(t)(graph.Linear(x, input(g, fmt.Sprint("m", len(nodes)), m, cols, cols), nil)), w)
		default:
			y := nodes[j]
			if !x.Shape().Eq(y.Shape()) {
				continue
			}
			w := make([]float64, len(v))
			for k := range v {
				w[k] = v[k] + want[j][k]
			}
			if r.IntN(2) == 0 {
				add(must(t)(graph.Add(x, y)), w)
			} else {
				add(must(t)(gorgonia.Add(x, y)), w)
			}
		}
	}
	return nodes, want
}

// Random graphs give what a plain evaluation gives, whichever results are kept: no result is overwritten
// while something still reads it, no parameter ever.
func TestRandomGraphsDoNotAlias(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 300 {
		g := gorgonia.NewGraph()
		nodes, want := randomGraph(t, g, r, 5+r.IntN(25))
		keep := []*gorgonia.Node{nodes[len(nodes)-1]}
		for range r.IntN(3) {
			keep = append(keep, nodes[r.IntN(len(nodes))])
		}
		var opts []machine.Option
		if r.IntN(4) > 0 {
			opts = append(opts, machine.Outputs(keep...))
		}
		m := newMachine(t, g, opts...)
		for range 2 {
			run(t, m)
		}
		for i, n := range nodes {
			kept := len(opts) == 0 || i < 3
			for _, k := range keep {
				kept = kept || k == n
			}
			if !kept {
				continue
			}
			for k, v := range floats(n) {
				if v != want[i][k] {
					t.Fatalf("trial %d: node %d (%v) is %v, want %v", trial, i, n, floats(n), want[i])
				}
			}
		}
	}
}

// Two machines over one graph, in turn, each leave their own values on the nodes.
func TestTwoMachinesInTurn(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", []float64{1, -2}, 2)
	y := must(t)(graph.ReLU(x))
	a, b := newMachine(t, g), newMachine(t, g)
	run(t, a)
	x.Value().Data().([]float64)[1] = 5
	run(t, b)
	if got := floats(y); got[1] != 5 {
		t.Errorf("after the second machine: %v, want [1 5]", got)
	}
	x.Value().Data().([]float64)[1] = 6
	run(t, a)
	if got := floats(y); got[1] != 6 {
		t.Errorf("after the first machine again: %v, want [1 6]", got)
	}
}

// A steady run allocates nothing, on any number of threads. MemStats.Mallocs counts all goroutines.
func TestSteadyRunAllocatesNothing(t *testing.T) {
	g := gorgonia.NewGraph()
	r := rand.New(rand.NewPCG(3, 4))
	data := func(n int) []float64 {
		d := make([]float64, n)
		for i := range d {
			d[i] = r.NormFloat64()
		}
		return d
	}
	x := input(g, "x", data(4*16*24), 4, 16, 24)
	w := input(g, "w", data(24*72), 24, 72)
	qkv := must(t)(graph.Linear(x, w, nil))
	y := must(t)(graph.Attention(qkv, graph.Causal(3)))
	z := must(t)(graph.LayerNorm(must(t)(graph.Add(x, y)), input(g, "g", data(24), 24), input(g, "b", data(24), 24), 1e-5))
	ids := gorgonia.NewTensor(g, tensor.Int32, 2, gorgonia.WithShape(4, 16), gorgonia.WithName("ids"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(4, 16), tensor.Of(tensor.Int32))))
	loss := must(t)(graph.CrossEntropy(z, ids))
	grads, err := gorgonia.Grad(loss, w)
	if err != nil {
		t.Fatal(err)
	}
	for _, procs := range []int{2, 1} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		m := newMachine(t, g, machine.On(cpu.New(procs)), machine.Outputs(loss, grads[0]))
		for range 3 {
			run(t, m)
		}
		if n := leastAllocations(t, m); n > 0 {
			t.Errorf("GOMAXPROCS %d: 100 runs made %d allocations", procs, n)
		}
	}
}

// leastAllocations counts the process's allocations during 100 runs, the least of ten tries: the runtime
// itself allocates now and then, as when a goroutine sleeps on another processor than before.
func leastAllocations(t *testing.T, m *machine.Machine) uint64 {
	least := uint64(math.MaxUint64)
	for try := 0; try < 10 && least > 0; try++ {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			run(t, m)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	return least
}

// A result of another graph, and a run after Close, are errors.
func TestMisuse(t *testing.T) {
	g, other := gorgonia.NewGraph(), gorgonia.NewGraph()
	y := must(t)(graph.ReLU(input(g, "x", []float64{1}, 1)))
	foreign := must(t)(graph.ReLU(input(other, "x", []float64{1}, 1)))
	v := tensor.New(tensor.WithShape(1), tensor.Of(tensor.Float64))
	for name, opt := range map[string]machine.Option{
		"Outputs": machine.Outputs(foreign), "Outputs(nil)": machine.Outputs(nil), "Into": machine.Into(foreign, v),
	} {
		if _, err := machine.New(g, opt); err == nil || !strings.Contains(err.Error(), "named as a result") {
			t.Errorf("%s of another graph: %v; want an error", name, err)
		}
	}
	m := newMachine(t, g, machine.Outputs(y))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.RunAll(); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("run after Close: %v; want an error", err)
	}
}

// BenchmarkNode is a node's cost besides its work: the machine's own, and that of a launch.
func BenchmarkNode(b *testing.B) {
	const nodes = 500
	g := gorgonia.NewGraph()
	x := input(g, "x", []float64{1, 2}, 2)
	y := x
	for range nodes {
		var err error
		if y, err = graph.Add(y, x); err != nil {
			b.Fatal(err)
		}
	}
	m, err := machine.New(g, machine.Outputs(y))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := m.RunAll(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nodes, "ns/node")
}
