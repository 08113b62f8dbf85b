package composed

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"tinylm/internal/node"
)

// LayerNorm is weight*(x-mean)/sqrt(var+eps) + bias over the last axis (Ba et al. 2016) with the biased
// variance: x (N..., C), weight and bias (C); result like x.
func LayerNorm(x, weight, bias *gorgonia.Node, eps float64) (*gorgonia.Node, error) {
	return layerNorm(x, weight, bias, eps, func(e *expr, variance *gorgonia.Node) *gorgonia.Node {
		return e.sqrt(e.plus(variance, eps))
	})
}

// LayerNormStd divides by (sqrt(var)+eps) instead. Where the variance is 0 the root has no derivative: the
// gradient takes the deviation for a constant there.
func LayerNormStd(x, weight, bias *gorgonia.Node, eps float64) (*gorgonia.Node, error) {
	return layerNorm(x, weight, bias, eps, func(e *expr, variance *gorgonia.Node) *gorgonia.Node {
		flat := e.where(gorgonia.Eq, variance, 0)
		deviation := e.fill(e.sqrt(e.fill(variance, flat, 1)), flat, 0)
		return e.plus(deviation, eps)
	})
}

// layerNorm divides by what deviation makes of the variances (N..., 1).
func layerNorm(x, weight, bias *gorgonia.Node, eps float64, deviation func(*expr, *gorgonia.Node) *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "layernorm"}
	e.float(x, weight, bias)
	e.require(eps > 0 && !math.IsInf(eps, 1), "epsilon %v; want a positive number", eps)
	e.require(x.Dims() >= 1 && slices.Equal(weight.Shape(), x.Shape()[x.Dims()-1:]) && slices.Equal(bias.Shape(), weight.Shape()),
		"x, weight, bias %v, %v, %v; want (..., C), (C), (C)", node.Dims(x), node.Dims(weight), node.Dims(bias))
	if e.err != nil {
		return e.result(nil)
	}
	shape, inv := node.Dims(x), 1/float64(node.Last(x))
	mean := e.times(e.rowSum(x), inv)                     // (N..., 1)
	centred := e.sub(x, e.expand(mean, shape...))         // (N..., C)
	variance := e.times(e.rowSum(e.square(centred)), inv) // (N..., 1)
	y := e.div(centred, e.expand(deviation(e, variance), shape...))
	y = e.mul(y, e.expand(weight, shape...))
	return e.result(e.add(y, e.expand(bias, shape...)))
}
