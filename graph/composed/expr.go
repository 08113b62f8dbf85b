package composed

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
	"tinylm/internal/node"
)

// expr builds the nodes of one operator. Once a step fails, it keeps the error and the steps after it do
// nothing, so that a formula reads without error checks between its terms.
type expr struct {
	name string // the operator, for errors
	err  error
}

// result returns the node that the steps led to, or their error.
func (e *expr) result(n *gorgonia.Node) (*gorgonia.Node, error) {
	if e.err != nil {
		return nil, fmt.Errorf("composed %s: %w", e.name, e.err)
	}
	return n, nil
}

// results is result for an operator with two.
func (e *expr) results(a, b *gorgonia.Node) (*gorgonia.Node, *gorgonia.Node, error) {
	if e.err != nil {
		_, err := e.result(nil)
		return nil, nil, err
	}
	return a, b, nil
}

// require reports wrong inputs.
func (e *expr) require(ok bool, format string, args ...any) {
	if e.err == nil && !ok {
		e.err = fmt.Errorf(format, args...)
	}
}

// float requires the nodes to be of one floating-point type.
func (e *expr) float(nodes ...*gorgonia.Node) {
	t := nodes[0].Dtype()
	e.require(t == tensor.Float32 || t == tensor.Float64, "%s is of type %v; want float32 or float64", nodes[0].Name(), t)
	for _, n := range nodes {
		e.require(n.Dtype() == t, "%s is of type %v, %s of type %v", nodes[0].Name(), t, n.Name(), n.Dtype())
	}
}

// do runs one step on x.
func (e *expr) do(x *gorgonia.Node, step func() (*gorgonia.Node, error)) *gorgonia.Node {
	if e.err != nil {
		return x
	}
	n, err := step()
	if err != nil {
		e.err = err
		return x
	}
	return n
}

func (e *expr) unary(f func(*gorgonia.Node) (*gorgonia.Node, error), x *gorgonia.Node) *gorgonia.Node {
	return e.do(x, func() (*gorgonia.Node, error) { return f(x) })
}

func (e *expr) binary(f func(a, b *gorgonia.Node) (*gorgonia.Node, error), a, b *gorgonia.Node) *gorgonia.Node {
	return e.do(a, func() (*gorgonia.Node, error) { return f(a, b) })
}

// Gorgonia's elementwise operators. Both inputs of a binary one have the same shape, or one is a scalar.
func (e *expr) add(a, b *gorgonia.Node) *gorgonia.Node { return e.binary(gorgonia.Add, a, b) }
func (e *expr) sub(a, b *gorgonia.Node) *gorgonia.Node { return e.binary(gorgonia.Sub, a, b) }
func (e *expr) mul(a, b *gorgonia.Node) *gorgonia.Node { return e.binary(gorgonia.HadamardProd, a, b) }
func (e *expr) div(a, b *gorgonia.Node) *gorgonia.Node { return e.binary(gorgonia.HadamardDiv, a, b) }
func (e *expr) exp(x *gorgonia.Node) *gorgonia.Node    { return e.unary(gorgonia.Exp, x) }
func (e *expr) log(x *gorgonia.Node) *gorgonia.Node    { return e.unary(gorgonia.Log, x) }
func (e *expr) sqrt(x *gorgonia.Node) *gorgonia.Node   { return e.unary(gorgonia.Sqrt, x) }
func (e *expr) square(x *gorgonia.Node) *gorgonia.Node { return e.unary(gorgonia.Square, x) }
func (e *expr) tanh(x *gorgonia.Node) *gorgonia.Node   { return e.unary(gorgonia.Tanh, x) }

// number is a constant of x's type. Gorgonia merges constants of equal name whatever their types, so the
// name tells the type.
func number(x *gorgonia.Node, v float64) *gorgonia.Node {
	name := gorgonia.WithName(fmt.Sprintf("%v(%v)", x.Dtype(), v))
	if x.Dtype() == tensor.Float32 {
		return gorgonia.NewConstant(float32(v), name)
	}
	return gorgonia.NewConstant(v, name)
}

// plus and times combine x with a number.
func (e *expr) plus(x *gorgonia.Node, v float64) *gorgonia.Node  { return e.add(x, number(x, v)) }
func (e *expr) times(x *gorgonia.Node, v float64) *gorgonia.Node { return e.mul(x, number(x, v)) }

// where gives 1 where x compares to v as asked (gorgonia.Eq, Lte, Gt, ...) and 0 elsewhere. It has no
// gradient.
func (e *expr) where(compare func(a, b *gorgonia.Node, sameType bool) (*gorgonia.Node, error), x *gorgonia.Node, v float64) *gorgonia.Node {
	return e.do(x, func() (*gorgonia.Node, error) { return compare(x, number(x, v), true) })
}

// Our primitives.
func (e *expr) fill(x, where *gorgonia.Node, v float64) *gorgonia.Node {
	return e.do(x, func() (*gorgonia.Node, error) { return graph.FillWhere(x, where, v) })
}

func (e *expr) fillFuture(x *gorgonia.Node, v float64) *gorgonia.Node {
	return e.do(x, func() (*gorgonia.Node, error) { return graph.FillFuture(x, v) })
}

func (e *expr) matMul(a, b *gorgonia.Node, transA, transB bool) *gorgonia.Node {
	return e.do(a, func() (*gorgonia.Node, error) { return graph.MatMul(a, b, transA, transB) })
}

func (e *expr) reshape(x *gorgonia.Node, shape ...int) *gorgonia.Node {
	if slices.Equal(x.Shape(), shape) {
		return x
	}
	return e.do(x, func() (*gorgonia.Node, error) { return graph.Reshape(x, shape...) })
}

func (e *expr) transpose(x *gorgonia.Node, perm ...int) *gorgonia.Node {
	return e.do(x, func() (*gorgonia.Node, error) { return graph.Transpose(x, perm...) })
}

func (e *expr) slice(x *gorgonia.Node, from, to int) *gorgonia.Node {
	return e.do(x, func() (*gorgonia.Node, error) { return graph.SliceLast(x, from, to) })
}

func (e *expr) oneHot(ids *gorgonia.Node, classes int, t tensor.Dtype) *gorgonia.Node {
	return e.do(ids, func() (*gorgonia.Node, error) { return graph.OneHot(ids, classes, t) })
}

// expand repeats x, whose shape aligned at the last axis has axes equal to shape's or 1.
func (e *expr) expand(x *gorgonia.Node, shape ...int) *gorgonia.Node {
	if missing := len(shape) - x.Dims(); missing > 0 {
		x = e.reshape(x, append(slices.Repeat([]int{1}, missing), x.Shape()...)...)
	}
	return e.do(x, func() (*gorgonia.Node, error) { return graph.Expand(x, shape...) })
}

// rowSum sums the last axis: x (N..., C), result (N..., 1).
func (e *expr) rowSum(x *gorgonia.Node) *gorgonia.Node {
	return e.do(x, func() (*gorgonia.Node, error) { return graph.Reduce(x, append(node.Leading(x), 1)...) })
}

// sum adds up everything: a scalar.
func (e *expr) sum(x *gorgonia.Node) *gorgonia.Node {
	ones := slices.Repeat([]int{1}, x.Dims())
	return e.reshape(e.do(x, func() (*gorgonia.Node, error) { return graph.Reduce(x, ones...) }))
}
