package layers

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func TestParametersLayout(t *testing.T) {
	p := must(NewParameters(tensor.Float32))
	for _, w := range []struct {
		name  string
		shape []int
	}{{"bias", []int{3}}, {"matrix", []int{2, 3}}, {"gain", []int{2}}, {"cube", []int{2, 1, 2}}} {
		if err := p.Declare(w.name, Initial{}, w.shape...); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for i, w := range p.List() {
		if want := []int{0, 6, 10, 13}[i]; w.Offset != want {
			t.Errorf("%s begins at %d, want %d", w.Name, w.Offset, want)
		}
		got = append(got, w.Name)
	}
	if want := "matrix cube bias gain"; strings.Join(got, " ") != want {
		t.Errorf("order %v, want %s", got, want)
	}
	if p.Len() != 15 || p.DecayLen() != 10 || len(p.Flat32()) != 15 || len(p.Flat64()) != 0 {
		t.Errorf("length %d, decayed %d, arenas %d and %d; want 15, 10, 15, 0", p.Len(), p.DecayLen(), len(p.Flat32()), len(p.Flat64()))
	}

	// Slice, Tensor and the arena are one memory.
	must(Slice[float32](p, "cube"))[1] = 7
	if p.Flat32()[7] != 7 || must(p.Tensor("cube")).Data().([]float32)[1] != 7 {
		t.Error("a parameter's slice is not part of the arena")
	}
	if _, err := Slice[float64](p, "cube"); err == nil {
		t.Error("float32 elements were given as float64")
	}
	like := p.Like()
	if like.Flat32()[7] != 0 || like.Len() != 15 || like.DType() != tensor.Float32 {
		t.Error("Like is not an arena of zeros of the same layout")
	}
}

func TestParametersErrors(t *testing.T) {
	p := must(NewParameters(tensor.Float64))
	if err := p.Declare("w", Initial{}, 2, 3); err != nil {
		t.Fatal(err)
	}
	laid := must(NewParameters(tensor.Float64))
	laid.Flat64() // lays the arena out
	_, badType := NewParameters(tensor.Int)
	_, unknown := Slice[float64](p, "v")
	for _, c := range []struct {
		err  error
		want []string
	}{
		{p.Declare("w", Initial{}, 2), []string{`"w"`, "taken"}},
		{p.Declare("", Initial{}, 2), []string{"empty"}},
		{p.Declare("z", Initial{}, 2, 0), []string{"z", "[2 0]"}},
		{p.Declare("z", Initial{}), []string{"z", "axis"}},
		{badType, []string{"int", "float32"}},
		{unknown, []string{`"v"`}},
		{p.Load("v", []int{2, 3}, make([]float32, 6)), []string{`"v"`}},
		{p.Load("w", []int{3, 2}, make([]float32, 6)), []string{"w", "[2 3]", "[3 2]"}},
		{p.Load("w", []int{2, 3}, make([]float32, 5)), []string{"w", "5 elements"}},
		{laid.Declare("late", Initial{}, 2), []string{"late", "after"}},
	} {
		for _, w := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), w) {
				t.Errorf("error %v, want it to say %q", c.err, w)
			}
		}
	}
}

func TestLoadReachesGraphs(t *testing.T) {
	p := must(NewParameters(tensor.Float32))
	l := must(NewLinear(p, "l", 1, 1, true, Initial{}))
	g := gorgonia.NewGraph()
	s := NewScope(g, p)
	y := must(l.Forward(s, array{[]int{1, 1}, []float64{3}}.input(g, "x", tensor.Float32)))
	if err := p.Load("l.weight", []int{1, 1}, []float32{5}); err != nil { // after the graph was built
		t.Fatal(err)
	}
	run(t, g, y)
	if got := floats(y)[0]; got != 15 {
		t.Errorf("3*5 = %v: the graph does not see what was loaded", got)
	}
	nodes := must(s.Params())
	if err := p.CheckBound(nodes...); err != nil {
		t.Errorf("bound parameters: %v", err)
	}
	if err := gorgonia.Let(nodes[0], tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float32{9}))); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckBound(nodes...); err == nil || !strings.Contains(err.Error(), "l.weight") {
		t.Errorf("error %v for a parameter bound to other memory, want one naming l.weight", err)
	}
}

// deviation returns mean and standard deviation of a parameter.
func deviation(t *testing.T, p *Parameters, name string) (mean, dev float64, n int) {
	t.Helper()
	s, err := Slice[float64](p, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s {
		mean += v / float64(len(s))
	}
	for _, v := range s {
		dev += (v - mean) * (v - mean) / float64(len(s))
	}
	return mean, math.Sqrt(dev), len(s)
}

func TestInit(t *testing.T) {
	base := Config{Layers: 3, Heads: 2, Width: 32, Context: 64, Vocab: 70, Inner: 128, Untied: true}
	fanIn := base
	fanIn.Init = InitFanIn
	for _, c := range []struct {
		config Config
		name   string
		want   float64 // deviation
	}{
		{base, "transformer.wte.weight", 0.02},
		{base, "transformer.wpe.weight", 0.02},
		{base, "lm_head.weight", 0.02},
		{base, "transformer.h.1.attn.c_attn.weight", 0.02},
		{base, "transformer.h.1.mlp.c_fc.weight", 0.02},
		{base, "transformer.h.1.attn.c_proj.weight", 0.02 / math.Sqrt(6)},
		{base, "transformer.h.1.mlp.c_proj.weight", 0.02 / math.Sqrt(6)},
		{fanIn, "transformer.wte.weight", 1 / math.Sqrt(32)},
		{fanIn, "lm_head.weight", 1 / math.Sqrt(32)},
		{fanIn, "transformer.h.1.attn.c_proj.weight", 1 / math.Sqrt(32)},
		{fanIn, "transformer.h.1.mlp.c_proj.weight", 1 / math.Sqrt(128)},
	} {
		m := must(NewGPT(c.config, tensor.Float64))
		m.Init(1)
		mean, dev, n := deviation(t, m.Params(), c.name)
		// Five standard errors, of the mean and of the deviation of n normal numbers.
		if e := 5 * c.want / math.Sqrt(float64(n)); math.Abs(mean) > e || math.Abs(dev-c.want) > e {
			t.Errorf("%s %s: mean %.4g, deviation %.4g; want 0, %.4g", c.config.Init, c.name, mean, dev, c.want)
		}
		for _, w := range m.Params().List() {
			want := 0.0
			switch {
			case len(w.Shape) > 1:
				continue
			case strings.Contains(w.Name, "ln_") && strings.HasSuffix(w.Name, "weight"):
				want = 1
			}
			if s := must(Slice[float64](m.Params(), w.Name)); slices.Min(s) != want || slices.Max(s) != want {
				t.Errorf("%s starts in %v..%v, want %v", w.Name, slices.Min(s), slices.Max(s), want)
			}
		}
	}
}

func TestInitDependsOnSeedAndNameOnly(t *testing.T) {
	weights := func(layers int, seed int64, name string) []float32 {
		m := must(NewGPT(Config{Layers: layers, Heads: 2, Width: 8, Context: 4, Vocab: 5}, tensor.Float32))
		m.Init(seed)
		return must(Slice[float32](m.Params(), name))
	}
	const a, b = "transformer.h.0.attn.c_attn.weight", "transformer.h.1.attn.c_attn.weight"
	for _, seed := range []int64{0, 1, -1} {
		if !slices.Equal(weights(2, seed, a), weights(3, seed, a)) {
			t.Errorf("seed %d: a block more changed the first values of another", seed)
		}
		if slices.Equal(weights(2, seed, a), weights(2, seed+7, a)) {
			t.Errorf("seeds %d and %d give the same values", seed, seed+7)
		}
		if slices.Equal(weights(2, seed, a), weights(2, seed, b)) {
			t.Errorf("seed %d: two blocks start equal", seed)
		}
	}
}
