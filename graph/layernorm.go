package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/node"
)

// LayerNorm normalises the last axis (Ba et al. 2016): weight*(x-mean)/sqrt(var+eps) + bias with the
// biased variance. x (N..., C), weight and bias (C); result like x. GPT-2 has eps 1e-5.
func LayerNorm(x, weight, bias *gorgonia.Node, eps float64) (*gorgonia.Node, error) {
	return layerNorm(x, weight, bias, device.LayerNorm{Eps: eps})
}

// LayerNormStd divides by (sqrt(var)+eps) instead; the lesson behind this project has eps 1e-6.
func LayerNormStd(x, weight, bias *gorgonia.Node, eps float64) (*gorgonia.Node, error) {
	return layerNorm(x, weight, bias, device.LayerNorm{Eps: eps, StdPlusEps: true})
}

func layerNorm(x, weight, bias *gorgonia.Node, k device.LayerNorm) (*gorgonia.Node, error) {
	t, err := float(x, weight, bias)
	if err != nil {
		return nil, fmt.Errorf("layernorm: %w", err)
	}
	if !(k.Eps > 0) {
		return nil, fmt.Errorf("layernorm: epsilon %v; want a positive number", k.Eps)
	}
	if x.Dims() < 1 || !equal(weight.Shape(), []int{node.Last(x)}) || !equal(bias.Shape(), weight.Shape()) {
		return nil, fmt.Errorf("layernorm: x, weight, bias %s; want (..., C), (C), (C)", shapes(x, weight, bias))
	}
	stats := device.Spec{DType: t, Shape: []int{node.Rows(x)}}
	return result(apply(rule{
		kernel: k,
		out:    []device.Spec{like(x), stats, stats}, // y, mean, rstd
		grad:   layerNormGrad(k),
		diff:   3,
	}, x, weight, bias))
}

func layerNormGrad(k device.LayerNorm) gradient {
	return func(in gorgonia.Nodes, packed, grad *gorgonia.Node) (gorgonia.Nodes, error) {
		x, weight, bias := in[0], in[1], in[2]
		dy, err := unwrap(grad)
		if err != nil {
			return nil, err
		}
		saved, err := parts(packed, nil)
		if err != nil {
			return nil, err
		}
		return parts(apply(rule{
			kernel: device.LayerNormGrad{Eps: k.Eps, StdPlusEps: k.StdPlusEps},
			out:    []device.Spec{like(x), like(weight), like(bias)},
		}, x, weight, saved[1], saved[2], dy))
	}
}
