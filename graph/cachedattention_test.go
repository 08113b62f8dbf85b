package graph_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/composed"
	"tinylm/graph/gradcheck"
)

// The sizes of the texts in the tests below: two of eleven tokens, two heads of width 3.
const texts, length, headCount, headWidth = 2, 11, 2, 3

// cacheNodes adds the two inputs of a cache.
func cacheNodes(g *gorgonia.ExprGraph, keys, values *tensor.Dense) (k, v *node) {
	add := func(name string, value *tensor.Dense) *node {
		return gorgonia.NewTensor(g, value.Dtype(), 4, gorgonia.WithShape(value.Shape()...),
			gorgonia.WithName(name), gorgonia.WithValue(value))
	}
	return add("keys", keys), add("values", values)
}

// TestCachedAttentionInParts gives texts to cached attention a few tokens at a time, with a row of the cache
// each, and compares with attention over the whole, composed of primitive nodes.
func TestCachedAttentionInParts(t *testing.T) {
	const width = headCount * headWidth
	qkv := random(1, texts*length*3*width)
	g := gorgonia.NewGraph()
	whole, _, err := composed.Attention(leaf(g, "qkv", tensor.Float64, []int{texts, length, 3 * width}, qkv), graph.Causal(headCount))
	if err != nil {
		t.Fatal(err)
	}
	want := run(t, gradcheck.Machine, whole)[0]

	for _, typ := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for name, engine := range map[string]gradcheck.Engine{"machine": gradcheck.Machine, "tape machine": gradcheck.TapeMachine} {
			t.Run(fmt.Sprint(typ, "/", name), func(t *testing.T) {
				cache := func() *tensor.Dense {
					return tensor.New(tensor.WithShape(3, headCount, length, headWidth), tensor.Of(typ))
				}
				keys, values := cache(), cache()
				got := make([]float64, len(want))
				from := 0
				for _, n := range []int{4, 1, 1, 3, length - 9} {
					var part []float64
					for b := range texts {
						part = append(part, qkv[(b*length+from)*3*width:][:n*3*width]...)
					}
					g := gorgonia.NewGraph()
					k, v := cacheNodes(g, keys, values)
					at := leaf(g, "at", tensor.Int, []int{texts, 2}, []float64{2, float64(from), 0, float64(from)})
					y := must(t)(graph.CachedAttention(k, v, leaf(g, "qkv", typ, []int{texts, n, 3 * width}, part), at))
					out := run(t, engine, y)[0]
					for b := range texts {
						copy(got[(b*length+from)*width:][:n*width], out[b*n*width:])
					}
					from += n
				}
				limit := 1e-12
				if typ == tensor.Float32 {
					limit = 1e-6
				}
				wantClose(t, "the parts", got, want, limit)
			})
		}
	}
}

func TestCachedAttentionErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	of := zeros(g)
	x := func(shape ...int) *node { return of(tensor.Float64, shape...) }
	at := func(b int) *node { return of(tensor.Int64, b, 2) }
	cache := x(1, 2, 8, 3)
	computed := must(t)(graph.ReLU(cache))
	for _, c := range []struct {
		keys, values, qkv, at *node
		want                  string
	}{
		{cache, x(1, 2, 8, 4), x(1, 1, 18), at(1), "[1 2 8 3], [1 2 8 4]|(R, H, M, D)"},
		{cache, cache, x(1, 1, 18), at(1), "two inputs"},
		{x(2, 8, 3), x(2, 8, 3), x(1, 1, 18), at(1), "[2 8 3]|(R, H, M, D)"},
		{cache, computed, x(1, 1, 18), at(1), "is computed|inputs"},
		{cache, x(1, 2, 8, 3), x(1, 1, 12), at(1), "(1, 1, 12)|(1, 2, 8, 3)|18"},
		{cache, x(1, 2, 8, 3), x(1, 9, 18), at(1), "(1, 9, 18)|T of 8 at most"},
		{cache, x(1, 2, 8, 3), x(2, 1, 18), at(1), "at (1, 2)|[2 2]"},
		{cache, x(1, 2, 8, 3), x(1, 1, 18), x(1, 2), "float64|int32, int64 or int"},
		{cache, x(1, 2, 8, 3), of(tensor.Float32, 1, 1, 18), at(1), "float64|float32"},
	} {
		n, err := graph.CachedAttention(c.keys, c.values, c.qkv, c.at)
		wantError(t, n, err, c.want)
	}

	y := must(t)(graph.CachedAttention(cache, x(1, 2, 8, 3), x(1, 1, 18), at(1)))
	if _, err := gorgonia.Grad(must(t)(gorgonia.Sum(y)), cache); err == nil {
		t.Error("a gradient for the cache: no error")
	}
}

// TestCachedAttentionOutside runs texts at places that the cache does not have, on both machines.
func TestCachedAttentionOutside(t *testing.T) {
	for place, want := range map[[2]float64]string{
		{0, 3}:  "2 tokens at position 3 on, the cache has positions 0..3",
		{0, -1}: "position -1",
		{1, 0}:  "row 1 of the cache, which has rows 0..0",
	} {
		for _, engine := range []gradcheck.Engine{gradcheck.Machine, gradcheck.TapeMachine} {
			g := gorgonia.NewGraph()
			cache := func() *tensor.Dense { return tensor.New(tensor.WithShape(1, 1, 4, 1), tensor.Of(tensor.Float64)) }
			k, v := cacheNodes(g, cache(), cache())
			at := leaf(g, "at", tensor.Int32, []int{1, 2}, place[:])
			y := must(t)(graph.CachedAttention(k, v, leaf(g, "qkv", tensor.Float64, []int{1, 2, 3}, make([]float64, 6)), at))
			launch, err := engine(g, gorgonia.Nodes{y})
			if err == nil {
				_, err = launch()
			}
			wantError(t, nil, err, want)
		}
	}
}
