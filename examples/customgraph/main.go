// Command customgraph builds a small graph of tinylm's and Gorgonia's operators, differentiates it, and takes
// a few steps of gradient descent on it: what a program outside this repository does.
package main

import (
	"fmt"
	"log"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/graph/machine"
)

const (
	B, T, C = 2, 8, 16 // batch, time, channels
	heads   = 4
)

func main() {
	log.SetFlags(0)
	g := gorgonia.NewGraph()
	x := input(g, "x", B, T, C)                           // (B, T, C)
	w := input(g, "w", C, 3*C)                            // (C, 3C)
	qkv := must(graph.Linear(x, w, nil))                  // (B, T, 3C)
	y := must(graph.Attention(qkv, graph.Causal(heads)))  // (B, T, C), ours
	z := must(gorgonia.Tanh(must(graph.Add(x, y))))       // Gorgonia's: they mix
	loss := must(gorgonia.Mean(must(gorgonia.Square(z)))) // scalar
	grads, err := gorgonia.Grad(loss, w)                  // symbolic, by Gorgonia
	check(err)
	vm, err := machine.New(g, machine.Outputs(loss, grads[0])) // instead of gorgonia.NewTapeMachine(g)
	check(err)
	defer vm.Close()

	weights := w.Value().Data().([]float32)
	for step := range 3 {
		check(vm.RunAll())
		fmt.Printf("step %d loss %.4f\n", step, loss.Value().Data())
		for i, d := range grads[0].Value().Data().([]float32) {
			weights[i] -= 2 * d
		}
	}
}

// input is a leaf filled with a fixed pattern.
func input(g *gorgonia.ExprGraph, name string, shape ...int) *gorgonia.Node {
	data := make([]float32, tensor.Shape(shape).TotalSize())
	for i := range data {
		data[i] = float32(math.Sin(float64(i) * 0.7))
	}
	return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
}

func must(n *gorgonia.Node, err error) *gorgonia.Node {
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
