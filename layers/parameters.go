package layers

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph/machine"
)

// The types that weights can have, as NewGPT and NewParameters take them.
var (
	Float32 = tensor.Float32
	Float64 = tensor.Float64
)

// Parameter is one tensor of weights: a name, a shape, its place in the arena, and how it starts.
type Parameter struct {
	Name    string
	Shape   []int
	Offset  int // in elements from the start of the arena
	Initial Initial
}

// Len returns the number of elements.
func (p Parameter) Len() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// Float lists the element types that weights can have.
type Float interface{ float32 | float64 }

// Parameters are the weights of a model in one contiguous arena: first the tensors that AdamW decays, those
// of rank 2 and more, then the others; within each group in the order of declaration.
//
// Layers declare theirs first. The first use of the memory lays the arena out, all zeros, and no more can
// be declared after that.
type Parameters struct {
	dtype  tensor.Dtype
	list   []Parameter    // in the order of the arena
	index  map[string]int // by name, in list
	matrix int            // how many of list are of rank 2 and more
	laid   bool
	f32    []float32 // the arena, of the one type or of the other
	f64    []float64
}

// NewParameters returns an empty set of weights of type tensor.Float32 or tensor.Float64.
func NewParameters(t tensor.Dtype) (*Parameters, error) {
	if t != tensor.Float32 && t != tensor.Float64 {
		return nil, fmt.Errorf("parameters of type %v; want float32 or float64", t)
	}
	return &Parameters{dtype: t, index: map[string]int{}}, nil
}

// Declare adds a parameter. The name must be new.
func (p *Parameters) Declare(name string, initial Initial, shape ...int) error {
	if p.laid {
		return fmt.Errorf("parameter %s is declared after the arena was laid out", name)
	}
	if _, ok := p.index[name]; ok || name == "" {
		return fmt.Errorf("parameter name %q is empty or taken; every parameter needs one of its own", name)
	}
	if len(shape) == 0 || slices.Min(shape) < 1 {
		return fmt.Errorf("parameter %s: shape %v; want at least one axis, all of length 1 or more", name, shape)
	}
	at := len(p.list)
	if len(shape) > 1 {
		at = p.matrix
		p.matrix++
	}
	p.list = slices.Insert(p.list, at, Parameter{Name: name, Shape: slices.Clone(shape), Initial: initial})
	p.number()
	return nil
}

// number sets the offsets and the index after a change of the list.
func (p *Parameters) number() {
	offset := 0
	for i := range p.list {
		p.list[i].Offset = offset
		offset += p.list[i].Len()
		p.index[p.list[i].Name] = i
	}
}

// DType returns the type of the elements.
func (p *Parameters) DType() tensor.Dtype { return p.dtype }

// List returns the parameters in the order of the arena.
func (p *Parameters) List() []Parameter { return slices.Clone(p.list) }

// Len returns the number of elements of the arena.
func (p *Parameters) Len() int { return end(p.list) }

// DecayLen returns how many elements at the start of the arena belong to tensors of rank 2 and more, the
// ones that AdamW decays. Those after it, biases and layer norms, are not decayed.
func (p *Parameters) DecayLen() int { return end(p.list[:p.matrix]) }

func end(list []Parameter) int {
	if len(list) == 0 {
		return 0
	}
	last := list[len(list)-1]
	return last.Offset + last.Len()
}

// Get returns the parameter of that name.
func (p *Parameters) Get(name string) (Parameter, error) {
	i, ok := p.index[name]
	if !ok {
		return Parameter{}, fmt.Errorf("the model has no parameter %q", name)
	}
	return p.list[i], nil
}

// Like returns zeros of the same names, shapes and type: memory for gradients or moments.
func (p *Parameters) Like() *Parameters {
	return &Parameters{dtype: p.dtype, list: slices.Clone(p.list), index: p.index, matrix: p.matrix, laid: true,
		f32: arena[float32](len(p.Flat32())), f64: arena[float64](len(p.Flat64()))}
}

// layOut makes the arena, once.
func (p *Parameters) layOut() {
	if p.laid {
		return
	}
	p.laid = true
	if p.dtype == tensor.Float32 {
		p.f32 = arena[float32](p.Len())
	} else {
		p.f64 = arena[float64](p.Len())
	}
}

// arena returns n zeros in memory from the device, which knows how kernels read it fastest.
func arena[F float32 | float64](n int) []F {
	if n == 0 {
		return nil
	}
	var z F
	at, err := machine.DefaultDevice().Alloc(n * int(unsafe.Sizeof(z)))
	if err != nil {
		panic(err) // the default device gives ordinary memory, which does not fail
	}
	return unsafe.Slice((*F)(at), n)
}

// Flat32 returns the arena itself, empty when the elements are float64.
func (p *Parameters) Flat32() []float32 { p.layOut(); return p.f32 }

// Flat64 returns the arena itself, empty when the elements are float32.
func (p *Parameters) Flat64() []float64 { p.layOut(); return p.f64 }

// Slice returns the elements of a parameter, row-major, as part of the arena.
// It is an error when T is not the type of the elements.
func Slice[T Float](p *Parameters, name string) ([]T, error) {
	d, err := p.Tensor(name)
	if err != nil {
		return nil, err
	}
	s, ok := d.Data().([]T)
	if !ok {
		return nil, fmt.Errorf("parameter %s is of type %v, not %T", name, p.dtype, *new(T))
	}
	return s, nil
}

// Tensor returns a parameter as a tensor over the arena's memory.
func (p *Parameters) Tensor(name string) (*tensor.Dense, error) {
	w, err := p.Get(name)
	if err != nil {
		return nil, err
	}
	p.layOut()
	from, to := w.Offset, w.Offset+w.Len()
	var backing any
	if p.dtype == tensor.Float32 {
		backing = p.f32[from:to:to]
	} else {
		backing = p.f64[from:to:to]
	}
	return tensor.New(tensor.WithShape(w.Shape...), tensor.WithBacking(backing)), nil
}

// Load copies row-major data into a parameter; the shape must be the parameter's.
func (p *Parameters) Load(name string, shape []int, data []float32) error {
	w, err := p.Get(name)
	if err != nil {
		return err
	}
	if !slices.Equal(shape, w.Shape) || len(data) != w.Len() {
		return fmt.Errorf("parameter %s is %v, the data %v with %d elements", name, w.Shape, shape, len(data))
	}
	p.layOut()
	if p.dtype == tensor.Float32 {
		copy(p.f32[w.Offset:], data)
		return nil
	}
	for i, v := range data {
		p.f64[w.Offset+i] = float64(v)
	}
	return nil
}

// Init gives every parameter its initial values. A parameter's depend on the seed, its name and its shape
// only, so that other parameters or their order do not matter.
func (p *Parameters) Init(seed int64) {
	p.layOut()
	for _, w := range p.list {
		h := fnv.New64a()
		h.Write([]byte(w.Name))
		r := rand.New(rand.NewPCG(uint64(seed), h.Sum64()))
		for i := w.Offset; i < w.Offset+w.Len(); i++ {
			v := w.Initial.Mean
			if w.Initial.Deviation != 0 {
				v += w.Initial.Deviation * r.NormFloat64()
			}
			if p.dtype == tensor.Float32 {
				p.f32[i] = float32(v)
			} else {
				p.f64[i] = v
			}
		}
	}
}

// CheckBound reports a node of a parameter whose value lies outside the arena: gorgonia.Let binds other
// memory, which training would not see. Copy into the arena instead, with Load.
func (p *Parameters) CheckBound(nodes ...*gorgonia.Node) error {
	for _, n := range nodes {
		want, err := p.Tensor(n.Name())
		if err != nil {
			return err
		}
		if got, ok := n.Value().(*tensor.Dense); !ok || got.Uintptr() != want.Uintptr() {
			return fmt.Errorf("parameter %s was bound to other memory; copy values in with Parameters.Load instead of gorgonia.Let", n.Name())
		}
	}
	return nil
}

// declare adds several parameters under a common prefix, all or an error.
func (p *Parameters) declare(prefix string, list ...Parameter) error {
	var errs []error
	for _, w := range list {
		errs = append(errs, p.Declare(prefix+"."+w.Name, w.Initial, w.Shape...))
	}
	return errors.Join(errs...)
}
