package graph_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/gradcheck"
)

// TestLessonScale measures what dividing by sqrt(d) is for. Scores of random queries and keys of width d have
// variance d; divided by sqrt(d), variance 1. Weights of n keys with scores of variance s have about
// ln(n) - s/2 nats of entropy while that is far above 0 (of a log-normal sum); without the scale the
// softmax saturates instead and nearly all weight lies on one key.
func TestLessonScale(t *testing.T) {
	const n, d = 64, 64
	r := rand.New(rand.NewPCG(1, 1))
	normal := func() []float64 {
		v := make([]float64, n*d)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	q, k := normal(), normal()
	for _, c := range []struct {
		name               string
		scale              float64
		entropy, tolerance float64 // nats; at most ln 64 = 4.16
		largest            float64 // least acceptable mean of each row's largest weight
	}{
		{"divided by sqrt(d)", math.Sqrt(d), math.Log(n) - 0.5, 0.15, 0},
		{"not divided", 1, 0.5, 0.5, 0.7},
	} {
		scaled := make([]float64, len(q))
		for i, v := range q {
			scaled[i] = v / c.scale
		}
		g := gorgonia.NewGraph()
		scores := must(t)(graph.MatMul(leaf(g, "q", tensor.Float64, []int{n, d}, scaled), leaf(g, "k", tensor.Float64, []int{n, d}, k), false, true))
		weights := run(t, gradcheck.Machine, must(t)(graph.Softmax(scores)))[0]
		var entropy, largest float64
		for i := range n {
			row := weights[i*n:][:n]
			most := 0.0
			for _, w := range row {
				if w > 0 {
					entropy -= w * math.Log(w) / n
				}
				most = max(most, w)
			}
			largest += most / n
		}
		t.Logf("%s: entropy of the weights %.2f of at most %.2f nats, largest weight %.2f on average", c.name, entropy, math.Log(n), largest)
		if math.Abs(entropy-c.entropy) > c.tolerance || largest < c.largest {
			t.Errorf("%s: entropy %v, largest weight %v; want about %v, at least %v", c.name, entropy, largest, c.entropy, c.largest)
		}
	}
}
