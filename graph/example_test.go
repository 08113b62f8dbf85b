package graph_test

import (
	"fmt"
	"log"
	"os"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/composed"
	"tinylm/graph/machine"
)

// Our operators and Gorgonia's mix in one graph, and gorgonia.Grad differentiates it.
func Example() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewTensor(g, gorgonia.Float32, 3, gorgonia.WithShape(2, 4, 12), gorgonia.WithName("x"),
		gorgonia.WithInit(gorgonia.Ones()))
	y, err := graph.Attention(x, graph.Causal(2)) // ours
	if err != nil {
		log.Fatal(err)
	}
	z := gorgonia.Must(gorgonia.Tanh(y)) // Gorgonia's
	loss := gorgonia.Must(gorgonia.Sum(z))
	grads, err := gorgonia.Grad(loss, x)
	if err != nil {
		log.Fatal(err)
	}
	m, err := machine.New(g, machine.Outputs(z, loss, grads[0])) // instead of gorgonia.NewTapeMachine(g)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if err := m.RunAll(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(z.Shape(), grads[0].Shape())
	fmt.Printf("%.4f\n", loss.Value().Data())
	// Output:
	// (2, 4, 4) (2, 4, 12)
	// 24.3710
}

// Stable for large values: the maximum is subtracted before exponentiating.
func ExampleSoftmax() {
	g := gorgonia.NewGraph()
	x := gorgonia.NodeFromAny(g, tensor.New(tensor.WithBacking([]float32{1000, 1001, 1002})), gorgonia.WithName("x"))
	y, err := graph.Softmax(x)
	if err != nil {
		log.Fatal(err)
	}
	m, err := machine.New(g, machine.Outputs(y))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if err := m.RunAll(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", y.Value().Data())
	// Output: [0.090 0.245 0.665]
}

// The walk-through of attention: three tokens, two heads of size 2, identity projections. The composed
// form shows who looks at whom.
func ExampleAttention_weights() {
	g := gorgonia.NewGraph()
	x := gorgonia.NodeFromAny(g, tensor.New(tensor.WithShape(1, 3, 4), tensor.WithBacking([]float64{
		1, 0, 1, 0,
		0, 1, 0, 1,
		1, 1, 0, 0,
	})), gorgonia.WithName("x")) // (B, T, C)
	qkv := gorgonia.Must(gorgonia.Concat(2, x, x, x)) // (B, T, 3C)
	y, weights, err := composed.Attention(qkv, graph.AttentionConfig{Heads: 2})
	if err != nil {
		log.Fatal(err)
	}
	m, err := machine.New(g, machine.Outputs(y, weights))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if err := m.RunAll(); err != nil {
		log.Fatal(err)
	}
	w, out := weights.Value().Data().([]float64), y.Value().Data().([]float64)
	for i := range 3 {
		fmt.Printf("token %d, head 0: weights %.4f, both heads %.4f\n", i, w[3*i:3*i+3], out[4*i:4*i+4])
	}
	// Output:
	// token 0, head 0: weights [0.4011 0.1978 0.4011], both heads [0.8022 0.5989 0.5035 0.2483]
	// token 1, head 0: weights [0.1978 0.4011 0.4011], both heads [0.5989 0.8022 0.2483 0.5035]
	// token 2, head 0: weights [0.2483 0.2483 0.5035], both heads [0.7517 0.7517 0.3333 0.3333]
}

// A drawing for Graphviz: save it and run "dot -Tsvg".
func ExampleDOT() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, gorgonia.Float32, gorgonia.WithShape(8, 4), gorgonia.WithName("x"))
	w := gorgonia.NewMatrix(g, gorgonia.Float32, gorgonia.WithShape(4, 2), gorgonia.WithName("w"))
	y, err := graph.Linear(x, w, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := graph.GELU(y); err != nil {
		log.Fatal(err)
	}
	if err := graph.DOT(os.Stdout, g, graph.DrawParameters(w)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// digraph tinylm {
	//   rankdir=TB; nodesep=0.3; ranksep=0.35;
	//   node [fontname="Helvetica" fontsize=11]; edge [fontname="Helvetica" fontsize=9 color=gray40];
	//   n0 [label="x\n(8, 4) float32" shape=box style=filled fillcolor=lightblue];
	//   n1 [label="w\n(4, 2) float32" shape=box style=filled fillcolor=lightyellow];
	//   n2 [label="linear\n(8, 2) float32" shape=box style=rounded];
	//   n3 [label="gelu\n(8, 2) float32" shape=box style=rounded];
	//   n0 -> n2;
	//   n1 -> n2;
	//   n2 -> n3;
	// }
}
