package gradcheck

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
	"tinylm/internal/value"
)

// Options changes how a check is made; the zero value is the usual one.
type Options struct {
	H      float64 // step of the differences; 0 = 1e-5
	Limit  float64 // greatest error that passes; 0 = 1e-7
	Sample int     // entries tried per tensor, always the same ones, and any gradient not finite; 0 = all
	Engine Engine  // what runs the graph; nil = [Machine]
}

// Check builds a graph and compares its gradients. The builder returns a scalar loss and the nodes to
// differentiate by, all float64 and with values bound: these are changed in place during the check, and
// hold their old bits after it. An error means that the check could not be made; whether it passed, the
// report says.
func Check(build func(g *gorgonia.ExprGraph) (loss *gorgonia.Node, wrt gorgonia.Nodes, err error), opts Options) (Report, error) {
	if opts.H == 0 {
		opts.H = 1e-5
	}
	if opts.Limit == 0 {
		opts.Limit = 1e-7
	}
	if opts.Engine == nil {
		opts.Engine = Machine
	}
	r, err := check(build, opts)
	if err != nil {
		return Report{}, fmt.Errorf("gradcheck: %w", err)
	}
	return r, nil
}

func check(build func(g *gorgonia.ExprGraph) (*gorgonia.Node, gorgonia.Nodes, error), opts Options) (Report, error) {
	g := gorgonia.NewGraph()
	loss, wrt, err := build(g)
	if err != nil {
		return Report{}, err
	}
	if loss.Dtype() != tensor.Float64 || !loss.IsScalar() {
		return Report{}, fmt.Errorf("the loss is %v %v; want a float64 scalar", loss.Dtype(), loss.Shape())
	}
	if len(wrt) == 0 {
		return Report{}, fmt.Errorf("there is nothing to differentiate by; return the nodes to check")
	}
	entries := make([][]float64, len(wrt))
	for i, n := range wrt {
		if entries[i], err = values(n.Value()); err != nil {
			return Report{}, fmt.Errorf("%s: %w", n.Name(), err)
		}
	}
	analytic, err := gradients(loss, wrt, opts.Engine)
	if err != nil {
		return Report{}, err
	}
	evaluate, err := lossOf(loss, opts.Engine)
	if err != nil {
		return Report{}, err
	}
	r := Report{H: opts.H, Limit: opts.Limit}
	for i, n := range wrt {
		t := Tensor{Name: n.Name(), Shape: n.Shape()}
		if err := t.compare(entries[i], analytic[i], evaluate, opts); err != nil {
			return Report{}, fmt.Errorf("%s: %w", n.Name(), err)
		}
		r.Tensors = append(r.Tensors, t)
	}
	return r, nil
}

// gradients runs the graph with its gradients once and returns copies of them.
func gradients(loss *gorgonia.Node, wrt gorgonia.Nodes, engine Engine) ([][]float64, error) {
	nodes, err := gorgonia.Grad(loss, wrt...)
	if err != nil {
		return nil, err
	}
	run, err := engine(loss.Graph(), nodes)
	if err != nil {
		return nil, err
	}
	vs, err := run()
	if err != nil {
		return nil, err
	}
	all := make([][]float64, len(vs))
	for i, v := range vs {
		x, err := values(v)
		if err != nil {
			return nil, fmt.Errorf("gradient of %s: %w", wrt[i].Name(), err)
		}
		all[i] = slices.Clone(x)
	}
	return all, nil
}

// lossOf returns a function that computes the loss for the values now bound.
func lossOf(loss *gorgonia.Node, engine Engine) (func() (float64, error), error) {
	run, err := engine(loss.Graph(), gorgonia.Nodes{loss})
	if err != nil {
		return nil, err
	}
	return func() (float64, error) {
		vs, err := run()
		if err != nil {
			return 0, err
		}
		x, err := values(vs[0])
		if err != nil {
			return 0, err
		}
		return x[0], nil
	}, nil
}

// compare fills in the worst entry: x are the tensor's values, shared with the graph. The first entry whose
// gradient is not finite is always tried, and is the worst.
func (t *Tensor) compare(x, analytic []float64, loss func() (float64, error), opts Options) error {
	scale := 1e-3 // of finite gradients
	for _, a := range analytic {
		if finite(a) {
			scale = max(scale, math.Abs(a))
		}
	}
	tried := sample(len(x), opts.Sample)
	if i := slices.IndexFunc(analytic, func(a float64) bool { return !finite(a) }); i >= 0 {
		tried = append([]int{i}, slices.DeleteFunc(tried, func(j int) bool { return j == i })...)
	}
	t.Error = -1 // below any
	for _, i := range tried {
		numeric, err := difference(&x[i], opts.H, loss)
		if err != nil {
			return err
		}
		e := math.Abs(numeric-analytic[i]) / scale
		if math.IsNaN(e) {
			e = math.Inf(1)
		}
		if e > t.Error {
			t.Error, t.Index = e, coordinates(i, t.Shape)
			t.Numeric, t.Analytic = numeric, analytic[i]
		}
		t.Checked++
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// difference is the central difference of the loss by one entry, which it restores.
func difference(x *float64, h float64, loss func() (float64, error)) (float64, error) {
	old := *x
	defer func() { *x = old }()
	*x = old + h
	up := *x
	a, err := loss()
	if err != nil {
		return 0, err
	}
	*x = old - h
	b, err := loss()
	return (a - b) / (up - *x), err
}

// sample returns n of the indices 0..all-1 in rising order, always the same ones; all for n = 0.
func sample(all, n int) []int {
	if n <= 0 || n > all {
		n = all
	}
	indices := rand.New(rand.NewPCG(1, uint64(all))).Perm(all)[:n]
	slices.Sort(indices)
	return indices
}

// coordinates returns the index along each axis of entry i.
func coordinates(i int, shape []int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
	return at
}

// values returns a value's elements, shared with it.
func values(v gorgonia.Value) ([]float64, error) {
	b, err := value.BufferOf(v)
	if err != nil {
		return nil, err
	}
	if b.DType != device.Float64 {
		return nil, fmt.Errorf("the values are %v; want float64", b.DType)
	}
	if b.Ptr != value.Pointer(v) {
		return nil, fmt.Errorf("the values are a strided view; bind a contiguous tensor")
	}
	return device.Slice[float64](b), nil
}
