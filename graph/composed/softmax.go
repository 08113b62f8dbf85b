package composed

import (
	"math"

	"gorgonia.org/gorgonia"

	"tinylm/graph"
	"tinylm/internal/node"
)

// Softmax normalises the last axis of x (N..., V): exp(x-max)/sum(exp(x-max)). A row of -Inf gives zeros.
func Softmax(x *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "softmax"}
	e.float(x)
	e.require(x.Dims() >= 1, "x is a scalar; want (..., V)")
	if e.err != nil {
		return e.result(nil)
	}
	return e.result(e.softmax(x))
}

func (e *expr) softmax(x *gorgonia.Node) *gorgonia.Node {
	s := e.shift(x)
	return e.div(s.exps, e.expand(s.sums, node.Dims(x)...))
}

// LogSoftmax is the logarithm of Softmax: x - max - log(sum(exp(x-max))). A row of -Inf gives -Inf.
func LogSoftmax(x *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "log softmax"}
	e.float(x)
	e.require(x.Dims() >= 1, "x is a scalar; want (..., V)")
	if e.err != nil {
		return e.result(nil)
	}
	s := e.shift(x)
	return e.result(e.sub(s.shifted, e.expand(e.log(s.sums), node.Dims(x)...)))
}

// shifts holds what softmax, its logarithm and cross entropy are made of.
type shifts struct {
	max     *gorgonia.Node // (N..., 1), the maximum of each row; 0 for a row of -Inf
	shifted *gorgonia.Node // (N..., V), x - max
	exps    *gorgonia.Node // (N..., V), exp(shifted)
	sums    *gorgonia.Node // (N..., 1), of exps; 1 for a row of -Inf
}

// shift subtracts the maximum of each row, so that no exponential overflows. The maximum has no gradient,
// because the results do not depend on it. A row of -Inf has none: -Inf - -Inf is not a number.
func (e *expr) shift(x *gorgonia.Node) shifts {
	var s shifts
	s.max = e.unary(graph.RowMax, x)
	dead := e.where(gorgonia.Eq, s.max, math.Inf(-1))
	s.max = e.fill(s.max, dead, 0)
	s.shifted = e.sub(x, e.expand(s.max, node.Dims(x)...))
	s.exps = e.exp(s.shifted)
	s.sums = e.fill(e.rowSum(s.exps), dead, 1)
	return s
}
