package layers_test

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph/machine"
	"tinylm/layers"
)

// sequence adds an input (shape...) with some values.
func sequence(g *gorgonia.ExprGraph, shape ...int) *gorgonia.Node {
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(tensor.Range(tensor.Float32, 0, tensor.Shape(shape).TotalSize())))
	return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName("x"), gorgonia.WithValue(v))
}

// shapes runs a graph and prints the shapes of results.
func shapes(g *gorgonia.ExprGraph, results ...*gorgonia.Node) {
	vm, err := machine.New(g, machine.Outputs(results...))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := vm.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range results {
		fmt.Println(n.Value().Shape())
	}
}

// Multi-head attention with its weights, which the composed form shows: B=2, T=10, width 512, 8 heads.
func ExampleCrossAttention() {
	p, _ := layers.NewParameters(tensor.Float32)
	attention, _ := layers.NewCrossAttention(p, "attn", layers.Config{Width: 512, Heads: 8, NoBias: true, Init: layers.InitFanIn})
	p.Init(1)

	g := gorgonia.NewGraph()
	s := layers.NewScope(g, p)
	s.Composed = true
	y, err := attention.Forward(s, sequence(g, 2, 10, 512), nil, nil, layers.Mask{})
	if err != nil {
		fmt.Println(err)
		return
	}
	shapes(g, y, s.AttentionWeights[0])
	// Output:
	// (2, 10, 512)
	// (2, 8, 10, 10)
}

// A causal transformer block keeps the shape: B=2, 8 tokens, width 256, 4 heads, inner width 1024.
func ExampleBlock() {
	p, _ := layers.NewParameters(tensor.Float32)
	block, _ := layers.NewBlock(p, "block", layers.Config{Width: 256, Heads: 4, Inner: 1024, Activation: layers.ReLU})
	p.Init(1)

	g := gorgonia.NewGraph()
	y, err := block.Forward(layers.NewScope(g, p), sequence(g, 2, 8, 256), layers.Mask{Causal: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	shapes(g, y)
	// Output: (2, 8, 256)
}

// The production form: one fused projection without bias, fused causal attention, GELU, dropout 0.1 in training.
func ExampleBlock_production() {
	p, _ := layers.NewParameters(tensor.Float32)
	block, _ := layers.NewBlock(p, "block", layers.Config{Width: 512, Heads: 8, Inner: 2048, NoBias: true, Dropout: 0.1})
	p.Init(1)

	g := gorgonia.NewGraph()
	s := layers.NewScope(g, p)
	s.Train = true
	y, err := block.Forward(s, sequence(g, 2, 16, 512), layers.Mask{Causal: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	shapes(g, y)
	// Output: (2, 16, 512)
}

// Three tokens, two heads of width 2, projections that change nothing: what attention computes, by hand.
func ExampleMultiHeadAttention() {
	p, _ := layers.NewParameters(tensor.Float32)
	attention, _ := layers.NewMultiHeadAttention(p, "attn", layers.Config{Width: 4, Heads: 2, NoBias: true})
	qkv, _ := layers.Slice[float32](p, "attn.c_attn.weight") // (4, 12)
	projection, _ := layers.Slice[float32](p, "attn.c_proj.weight")
	for i := range 4 {
		qkv[i*12+i], qkv[i*12+4+i], qkv[i*12+8+i] = 1, 1, 1
		projection[i*4+i] = 1
	}

	g := gorgonia.NewGraph()
	tokens := tensor.New(tensor.WithShape(1, 3, 4), tensor.WithBacking([]float32{1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0}))
	x := gorgonia.NewTensor(g, tensor.Float32, 3, gorgonia.WithShape(1, 3, 4), gorgonia.WithName("x"), gorgonia.WithValue(tokens))
	s := layers.NewScope(g, p)
	s.Composed = true
	y, err := attention.Forward(s, x, layers.Mask{})
	if err != nil {
		fmt.Println(err)
		return
	}
	vm, err := machine.New(g, machine.Outputs(y, s.AttentionWeights[0]))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := vm.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	weights, output := s.AttentionWeights[0].Value().Data().([]float32), y.Value().Data().([]float32)
	fmt.Println("weights of head 0")
	for i := range 3 {
		fmt.Printf("%.4f\n", weights[i*3:i*3+3])
	}
	fmt.Println("output")
	for i := range 3 {
		fmt.Printf("%.4f\n", output[i*4:i*4+4])
	}
	// Output:
	// weights of head 0
	// [0.4011 0.1978 0.4011]
	// [0.1978 0.4011 0.4011]
	// [0.2483 0.2483 0.5035]
	// output
	// [0.8022 0.5989 0.5035 0.2483]
	// [0.5989 0.8022 0.2483 0.5035]
	// [0.7517 0.7517 0.3333 0.3333]
}
