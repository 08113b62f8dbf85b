package graph

import (
	"fmt"
	"hash"
	"slices"
	"unsafe"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
	"tinylm/internal/node"
	"tinylm/internal/value"
)

// Gorgonia's operators have one result. An operator with several packs them into one flat vector, and a
// partOp takes each out again. tinylm's machine never builds the vector: it places every result alone.
//
// Of a forward operator only part 0, the result, has a gradient; the others are what its backward
// operator wants kept (row statistics). The gradient of part 0 reaches the packed operator wrapped in
// a wrapOp, because Gorgonia wants it in the packed node's type; unwrap takes it out.

// partOp takes result i out of a packed node.
type partOp struct {
	i      int
	packed []device.Spec
}

// part returns result i of a packed node.
func part(packed *gorgonia.Node, i int) (*gorgonia.Node, error) {
	o := packed.Op().(*op)
	return insert(&partOp{i: i, packed: o.out}, []*gorgonia.Node{packed})
}

// parts returns all results of a packed node.
func parts(packed *gorgonia.Node, err error) (gorgonia.Nodes, error) {
	if err != nil {
		return nil, err
	}
	var all gorgonia.Nodes
	for i := range packed.Op().(*op).out {
		n, err := part(packed, i)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// result returns part 0 of a packed node, the operator's result.
func result(packed *gorgonia.Node, err error) (*gorgonia.Node, error) {
	if err != nil {
		return nil, err
	}
	return part(packed, 0)
}

// Part implements device.Part.
func (o *partOp) Part() int { return o.i }

func (o *partOp) spec() device.Spec { return o.packed[o.i] }

func (o *partOp) Arity() int { return 1 }
func (o *partOp) Type() hm.Type {
	t := dtype(o.spec().DType)
	return hm.NewFnType(nodeType(1, t), nodeType(len(o.spec().Shape), t))
}
func (o *partOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.Shape(slices.Clone(o.spec().Shape)), nil
}
func (o *partOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	whole, err := value.BufferOf(in[0])
	if err != nil {
		return nil, err
	}
	own := value.New(o.spec())
	copyBytes(own, split(whole, o.packed)[o.i])
	return value.View(own, dtype(o.spec().DType)), nil
}
func (o *partOp) ReturnsPtr() bool      { return false }
func (o *partOp) CallsExtern() bool     { return false }
func (o *partOp) OverwritesInput() int  { return -1 }
func (o *partOp) WriteHash(h hash.Hash) { fmt.Fprint(h, o) }
func (o *partOp) Hashcode() uint32      { return hashOf(o.String()) }
func (o *partOp) String() string        { return fmt.Sprintf("part %d of %v", o.i, o.packed) }

// DiffWRT and SymDiff carry the gradient of the result to the packed operator.
func (o *partOp) DiffWRT(int) []bool { return []bool{o.i == 0} }
func (o *partOp) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	n, err := insert(&wrapOp{packed: o.packed}, []*gorgonia.Node{grad})
	return gorgonia.Nodes{n}, err
}

// wrapOp gives the gradient of result 0 the packed node's type: the other results' gradients are zero.
type wrapOp struct{ packed []device.Spec }

// unwrap returns the gradient of result 0 from the gradient of a packed node.
func unwrap(grad *gorgonia.Node) (*gorgonia.Node, error) {
	if _, ok := grad.Op().(*wrapOp); !ok {
		return nil, fmt.Errorf("the gradient of a packed node comes from %v, not from its result", grad.Op())
	}
	return node.Inputs(grad)[0], nil
}

// Virtual implements device.Virtual: nothing reads a wrapped gradient as a vector.
func (o *wrapOp) Virtual() {}

func (o *wrapOp) whole() device.Spec {
	n := 0
	for _, s := range o.packed {
		n += s.Len()
	}
	return device.Spec{DType: o.packed[0].DType, Shape: []int{n}}
}

func (o *wrapOp) Arity() int { return 1 }
func (o *wrapOp) Type() hm.Type {
	t := dtype(o.packed[0].DType)
	return hm.NewFnType(nodeType(len(o.packed[0].Shape), t), nodeType(1, t))
}
func (o *wrapOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.Shape(o.whole().Shape), nil
}
func (o *wrapOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	grad, err := value.BufferOf(in[0])
	if err != nil {
		return nil, err
	}
	whole := value.New(o.whole())
	copyBytes(split(whole, o.packed)[0], grad)
	return value.View(whole, dtype(whole.DType)), nil
}
func (o *wrapOp) ReturnsPtr() bool      { return false }
func (o *wrapOp) CallsExtern() bool     { return false }
func (o *wrapOp) OverwritesInput() int  { return -1 }
func (o *wrapOp) WriteHash(h hash.Hash) { fmt.Fprint(h, o) }
func (o *wrapOp) Hashcode() uint32      { return hashOf(o.String()) }
func (o *wrapOp) String() string        { return fmt.Sprintf("gradient of %v", o.packed) }

// at0 returns the buffer of spec s that begins at a byte of whole.
func at0(whole device.Buffer, at int, s device.Spec) device.Buffer {
	return device.Buffer{Spec: s, Ptr: unsafe.Add(whole.Ptr, at)}
}

func copyBytes(dst, src device.Buffer) {
	n := dst.Bytes()
	copy(unsafe.Slice((*byte)(dst.Ptr), n), unsafe.Slice((*byte)(src.Ptr), n))
}
