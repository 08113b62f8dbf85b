package composed

import (
	"slices"

	"gorgonia.org/gorgonia"

	"tinylm/graph"
	"tinylm/internal/node"
)

// Linear is y = x·w + b over the last axis: x (N..., K), w (K, M), b (M) or nil; y (N..., M).
func Linear(x, w, b *gorgonia.Node) (*gorgonia.Node, error) { return linear(x, w, b, false) }

// LinearTransposed is y = x·wᵀ over the last axis: x (N..., K), w (M, K); y (N..., M).
func LinearTransposed(x, w *gorgonia.Node) (*gorgonia.Node, error) { return linear(x, w, nil, true) }

func linear(x, w, b *gorgonia.Node, transW bool) (*gorgonia.Node, error) {
	e := &expr{name: "linear"}
	e.float(x, w)
	e.require(x.Dims() >= 1 && w.Dims() == 2, "x %v and w %v; want (..., K) and a matrix", x.Shape(), w.Shape())
	if e.err != nil {
		return e.result(nil)
	}
	k, m := w.Shape()[0], w.Shape()[1]
	if transW {
		k, m = m, k
	}
	e.require(node.Last(x) == k, "x %v has %d columns, w %v wants %d", x.Shape(), node.Last(x), w.Shape(), k)
	y := e.reshape(x, node.Rows(x), k)              // (N, K)
	y = e.matMul(y, w, false, transW)               // (N, M)
	y = e.reshape(y, append(node.Leading(x), m)...) // (N..., M)
	if b != nil {
		e.float(x, b)
		e.require(slices.Equal(b.Shape(), []int{m}), "bias %v; want (%d)", b.Shape(), m)
		y = e.add(y, e.expand(b, node.Dims(y)...))
	}
	return e.result(y)
}

// Add is x + y: x (S...), y of the same shape or a suffix of it, which is repeated over the leading axes.
func Add(x, y *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "add"}
	e.float(x, y)
	missing := x.Dims() - y.Dims()
	e.require(missing >= 0 && slices.Equal(x.Shape()[max(0, missing):], y.Shape()),
		"%v, %v; the second is not a suffix of the first", x.Shape(), y.Shape())
	return e.result(e.add(x, e.expand(y, node.Dims(x)...)))
}

// Embedding gathers rows of a table as one-hot rows times the table: table (V, C), ids (S...) of type
// int32, int64 or int; result (S..., C).
func Embedding(table, ids *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "embedding"}
	e.float(table)
	e.require(table.Dims() == 2, "table %v; want a matrix (V, C)", table.Shape())
	if e.err != nil {
		return e.result(nil)
	}
	v, c := table.Shape()[0], node.Last(table)
	hot := e.oneHot(ids, v, table.Dtype())                      // (S..., V)
	hot = e.reshape(hot, ids.Shape().TotalSize(), v)            // (N, V)
	y := e.matMul(hot, table, false, false)                     // (N, C)
	return e.result(e.reshape(y, append(node.Dims(ids), c)...)) // (S..., C)
}

// Dropout multiplies x (B, S...) with 0 or 1/(1-P), see [graph.KeepMask]. With P = 0 it returns x itself.
func Dropout(x *gorgonia.Node, c graph.DropoutConfig) (*gorgonia.Node, error) {
	e := &expr{name: "dropout"}
	e.float(x)
	return e.result(e.dropout(x, c))
}

func (e *expr) dropout(x *gorgonia.Node, c graph.DropoutConfig) *gorgonia.Node {
	if c.P == 0 {
		return x
	}
	keep := e.do(x, func() (*gorgonia.Node, error) { return graph.KeepMask(c, x.Dtype(), node.Dims(x)...) })
	return e.mul(x, keep)
}
