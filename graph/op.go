package graph

import (
	"fmt"
	"hash"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu"
	"tinylm/internal/node"
	"tinylm/internal/value"
)

// gradient is the gradient rule of an operator: from its inputs, its output and the gradient of its
// output it builds the gradient of each input, nil for one that has none.
type gradient func(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error)

// op is the gorgonia.Op behind every operator of this package. It holds no state: what it computes is
// its kernel, what it depends on its inputs.
type op struct {
	kernel  device.Kernel
	in      []device.Spec
	inTypes []tensor.Dtype // as Gorgonia names them; a Spec does not tell int from int64
	out     []device.Spec
	outType tensor.Dtype
	key     string // everything that tells this operator from another; hashed
	grad    gradient
	diff    []bool // which inputs have a gradient
}

// rule is what an operator's builder knows: the kernel, the results, and the gradient rule with the
// number of leading inputs that have a gradient (none when the rule is nil).
type rule struct {
	kernel device.Kernel
	out    []device.Spec
	grad   gradient
	diff   int
}

// apply adds an operator to the graph of its inputs. A packed operator (several results) gives one flat
// vector; see part.
func apply(r rule, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	o, err := newOp(r, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.kernel.Name(), err)
	}
	return insert(o, in)
}

func newOp(r rule, in []*gorgonia.Node) (*op, error) {
	o := &op{kernel: r.kernel, grad: r.grad, diff: make([]bool, len(in))}
	for i, n := range in {
		if n == nil {
			return nil, fmt.Errorf("input %d is nil", i)
		}
		s, err := value.SpecOf(n)
		if err != nil {
			return nil, err
		}
		o.in = append(o.in, s)
		o.inTypes = append(o.inTypes, n.Dtype())
		o.diff[i] = r.grad != nil && i < r.diff
	}
	for _, s := range r.out {
		if s.DType != r.out[0].DType {
			return nil, fmt.Errorf("results of types %v and %v cannot be packed", r.out[0].DType, s.DType)
		}
		s.Shape = append([]int{}, s.Shape...) // a copy: the caller may own it; not nil for a scalar
		o.out = append(o.out, s)
	}
	o.outType = dtype(o.out[0].DType)
	o.key = fmt.Sprintf("%s%+v%v%v", r.kernel.Name(), r.kernel, o.in, o.out)
	return o, nil
}

// insert adds the node and makes sure that the graph did not answer with another one: Gorgonia merges
// nodes by a 32-bit hash.
func insert(o gorgonia.Op, in []*gorgonia.Node) (*gorgonia.Node, error) {
	n, err := gorgonia.ApplyOp(o, in...)
	if err != nil {
		return nil, err
	}
	if n.Op().String() != o.String() || !slices.Equal(node.Inputs(n), in) {
		return nil, fmt.Errorf("%v: Gorgonia merged this node with %v; give the inputs other names", o, n.Op())
	}
	return n, nil
}

// Kernel and Outputs implement device.Operator.
func (o *op) Kernel() device.Kernel  { return o.kernel }
func (o *op) Outputs() []device.Spec { return o.out }

// Arity is part of gorgonia.Op, as are the methods below.
func (o *op) Arity() int { return len(o.in) }

// Type names every input's type concretely, so that ids, masks and floats mix.
func (o *op) Type() hm.Type {
	ts := make([]hm.Type, 0, len(o.in)+1)
	for i, s := range o.in {
		ts = append(ts, nodeType(len(s.Shape), o.inTypes[i]))
	}
	return hm.NewFnType(append(ts, nodeType(len(o.shape()), o.outType))...)
}

func nodeType(dims int, t tensor.Dtype) hm.Type {
	if dims == 0 {
		return t
	}
	return gorgonia.TensorType{Dims: dims, Of: t}
}

// shape is the node's: of the only result, or flat over all of them.
func (o *op) shape() []int {
	if len(o.out) == 1 {
		return o.out[0].Shape
	}
	n := 0
	for _, s := range o.out {
		n += s.Len()
	}
	return []int{n}
}

func (o *op) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.Shape(slices.Clone(o.shape())), nil
}

// Do runs the kernel on the CPU over the values' own memory: this is how Gorgonia's machines run it.
func (o *op) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	bufs := make([]device.Buffer, len(in))
	for i, v := range in {
		b, err := value.BufferOf(v)
		if err != nil {
			return nil, fmt.Errorf("%s: input %d: %w", o.kernel.Name(), i, err)
		}
		bufs[i] = b
	}
	whole := value.New(device.Spec{DType: o.out[0].DType, Shape: o.shape()})
	launch, err := cpu.Default().Prepare(o.kernel, split(whole, o.out), bufs)
	if err != nil {
		return nil, err
	}
	if err := launch(); err != nil {
		return nil, err
	}
	return value.View(whole, o.outType), nil
}

func (o *op) ReturnsPtr() bool      { return false }
func (o *op) CallsExtern() bool     { return false }
func (o *op) OverwritesInput() int  { return -1 }
func (o *op) WriteHash(h hash.Hash) { fmt.Fprint(h, o.key) }
func (o *op) Hashcode() uint32      { return hashOf(o.key) }
func (o *op) String() string        { return o.key }

// DiffWRT and SymDiff make it a gorgonia.SDOp.
func (o *op) DiffWRT(int) []bool { return o.diff }

func (o *op) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.grad == nil {
		return nil, fmt.Errorf("%s has no gradient", o.kernel.Name())
	}
	g, err := o.grad(in, out, grad)
	for len(g) < len(in) { // inputs without a gradient: masks, ids, random state
		g = append(g, nil)
	}
	return g, err
}

func hashOf(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

// split cuts a flat buffer into the results that lie in it one after the other.
func split(whole device.Buffer, out []device.Spec) []device.Buffer {
	bufs := make([]device.Buffer, len(out))
	at := 0
	for i, s := range out {
		bufs[i] = at0(whole, at, s)
		at += s.Bytes()
	}
	return bufs
}

// dtype is the Gorgonia type of results: operators give floats only.
func dtype(t device.DType) tensor.Dtype {
	if t == device.Float64 {
		return tensor.Float64
	}
	return tensor.Float32
}

// float reports an error unless every node is of one floating-point type.
func float(nodes ...*gorgonia.Node) (device.DType, error) {
	var first *gorgonia.Node
	for _, n := range nodes {
		if n == nil {
			continue
		}
		if t := n.Dtype(); t != tensor.Float32 && t != tensor.Float64 {
			return 0, fmt.Errorf("%s is of type %v; want float32 or float64", n.Name(), t)
		}
		if first == nil {
			first = n
		}
		if n.Dtype() != first.Dtype() {
			return 0, fmt.Errorf("%s is of type %v, %s of type %v", first.Name(), first.Dtype(), n.Name(), n.Dtype())
		}
	}
	return value.DTypeOf(first.Dtype())
}

// shapes prints the shapes of nodes for an error.
func shapes(nodes ...*gorgonia.Node) string {
	s := make([]string, len(nodes))
	for i, n := range nodes {
		s[i] = fmt.Sprint([]int(n.Shape()))
	}
	return strings.Join(s, ", ")
}
