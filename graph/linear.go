package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/node"
)

// Linear is y = x·w + b over the last axis: x (N..., K), w (K, M), b (M) or nil; y (N..., M).
func Linear(x, w, b *gorgonia.Node) (*gorgonia.Node, error) {
	return linear(x, w, b, false)
}

// LinearTransposed is y = x·wᵀ over the last axis: x (N..., K), w (M, K); y (N..., M). With the token
// embedding as w it is GPT-2's tied output layer.
func LinearTransposed(x, w *gorgonia.Node) (*gorgonia.Node, error) {
	return linear(x, w, nil, true)
}

func linear(x, w, b *gorgonia.Node, transW bool) (*gorgonia.Node, error) {
	t, err := float(x, w, b)
	if err != nil {
		return nil, fmt.Errorf("linear: %w", err)
	}
	if x.Dims() < 1 || w.Dims() != 2 {
		return nil, fmt.Errorf("linear: x %v and w %v; want (..., K) and a matrix", x.Shape(), w.Shape())
	}
	k, m := w.Shape()[0], w.Shape()[1]
	if transW {
		k, m = m, k
	}
	if node.Last(x) != k {
		return nil, fmt.Errorf("linear: x %v has %d columns, w %v wants %d", x.Shape(), node.Last(x), w.Shape(), k)
	}
	in := []*gorgonia.Node{x, w}
	if b != nil {
		if b.Dims() != 1 || b.Shape()[0] != m {
			return nil, fmt.Errorf("linear: bias %v; want (%d)", b.Shape(), m)
		}
		in = append(in, b)
	}
	return apply(rule{
		kernel: device.Linear{TransW: transW, Bias: b != nil},
		out:    []device.Spec{{DType: t, Shape: append(node.Leading(x), m)}},
		grad:   linearGrad(transW),
		diff:   3,
	}, in...)
}

// linearGrad: dx = dy·wᵀ, dw = xᵀ·dy, db = dy summed over the rows.
func linearGrad(transW bool) gradient {
	return func(in gorgonia.Nodes, _, dy *gorgonia.Node) (gorgonia.Nodes, error) {
		x, w := in[0], in[1]
		dx, err := linear(dy, w, nil, !transW)
		if err != nil {
			return nil, err
		}
		dw, err := apply(rule{
			kernel: device.LinearWeightGrad{TransW: transW},
			out:    []device.Spec{like(w)},
		}, x, dy)
		if err != nil || len(in) == 2 {
			return gorgonia.Nodes{dx, dw}, err
		}
		db, err := sumLeading(dy, in[2])
		return gorgonia.Nodes{dx, dw, db}, err
	}
}

// MatMul multiplies the matrices in the last two axes: a (G..., M, K) or, with transA, (G..., K, M);
// b (G..., K, N) or, with transB, (G..., N, K); result (G..., M, N). The leading axes are equal.
func MatMul(a, b *gorgonia.Node, transA, transB bool) (*gorgonia.Node, error) {
	t, err := float(a, b)
	if err != nil {
		return nil, fmt.Errorf("matmul: %w", err)
	}
	d := a.Dims()
	if d < 2 || b.Dims() != d || !equal(a.Shape()[:d-2], b.Shape()[:d-2]) {
		return nil, fmt.Errorf("matmul: %s; want equal leading axes and two more", shapes(a, b))
	}
	m, ka := matrix(a, transA)
	kb, n := matrix(b, transB)
	if ka != kb {
		return nil, fmt.Errorf("matmul: %s; the inner lengths are %d and %d", shapes(a, b), ka, kb)
	}
	return apply(rule{
		kernel: device.MatMul{TransA: transA, TransB: transB},
		out:    []device.Spec{{DType: t, Shape: append(node.Dims(a)[:d-2:d-2], m, n)}},
		grad:   matMulGrad(transA, transB),
		diff:   2,
	}, a, b)
}

// matrix returns the rows and columns of the last two axes, exchanged when trans.
func matrix(n *gorgonia.Node, trans bool) (rows, cols int) {
	d := n.Dims()
	rows, cols = n.Shape()[d-2], n.Shape()[d-1]
	if trans {
		return cols, rows
	}
	return rows, cols
}

// matMulGrad: for c = a·b, da = dc·bᵀ and db = aᵀ·dc; for a transposed input the transpose of that.
func matMulGrad(transA, transB bool) gradient {
	return func(in gorgonia.Nodes, _, dc *gorgonia.Node) (gorgonia.Nodes, error) {
		a, b := in[0], in[1]
		da, err := product(transA, dc, b, false, !transB)
		if err != nil {
			return nil, err
		}
		db, err := product(transB, a, dc, !transA, false)
		return gorgonia.Nodes{da, db}, err
	}
}

// product is x·y, or (x·y)ᵀ = yᵀ·xᵀ when trans.
func product(trans bool, x, y *gorgonia.Node, transX, transY bool) (*gorgonia.Node, error) {
	if trans {
		return MatMul(y, x, !transY, !transX)
	}
	return MatMul(x, y, transX, transY)
}
