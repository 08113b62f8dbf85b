// Package value translates between Gorgonia's values and the buffers of a device.
package value

import (
	"fmt"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
)

// DTypeOf returns the buffer type of a Gorgonia element type. Go's int is handled as the integer of its
// size: Int64, or Int32 on 32-bit platforms.
func DTypeOf(t tensor.Dtype) (device.DType, error) {
	switch t {
	case tensor.Float32:
		return device.Float32, nil
	case tensor.Float64:
		return device.Float64, nil
	case tensor.Int32:
		return device.Int32, nil
	case tensor.Int64:
		return device.Int64, nil
	case tensor.Int:
		if unsafe.Sizeof(int(0)) == 4 {
			return device.Int32, nil
		}
		return device.Int64, nil
	case tensor.Bool:
		return device.Bool, nil
	}
	return 0, fmt.Errorf("element type %v is not one of float32, float64, int32, int64, int, bool", t)
}

// SpecOf returns the buffer type and shape of a node.
func SpecOf(n *gorgonia.Node) (device.Spec, error) {
	t, err := DTypeOf(n.Dtype())
	if err != nil {
		return device.Spec{}, fmt.Errorf("%s: %w", n.Name(), err)
	}
	return device.Spec{DType: t, Shape: append([]int{}, n.Shape()...)}, nil
}

// BufferOf returns v's memory as a buffer, without copying when v is contiguous and row-major; a view
// with other strides is copied. A later change of v's elements is seen through an uncopied buffer.
func BufferOf(v gorgonia.Value) (device.Buffer, error) {
	if v == nil {
		return device.Buffer{}, fmt.Errorf("no value is bound")
	}
	t, err := DTypeOf(v.Dtype())
	if err != nil {
		return device.Buffer{}, err
	}
	spec := device.Spec{DType: t, Shape: append([]int{}, v.Shape()...)}
	if d, ok := v.(*tensor.Dense); ok {
		if d.RequiresIterator() || d.DataOrder().IsColMajor() {
			d = d.Materialize().(*tensor.Dense)
		}
		return device.Buffer{Spec: spec, Ptr: Pointer(d)}, nil
	}
	p := Pointer(v)
	if p == nil {
		return device.Buffer{}, fmt.Errorf("value of type %T is neither a dense tensor nor a scalar", v)
	}
	return device.Buffer{Spec: spec, Ptr: p}, nil
}

// Pointer returns the address of v's first element, nil for a kind of value that has none we know.
func Pointer(v gorgonia.Value) unsafe.Pointer {
	switch v := v.(type) {
	case *tensor.Dense:
		return densePointer(v)
	case *gorgonia.F32:
		return unsafe.Pointer(v)
	case *gorgonia.F64:
		return unsafe.Pointer(v)
	case *gorgonia.I32:
		return unsafe.Pointer(v)
	case *gorgonia.I64:
		return unsafe.Pointer(v)
	case *gorgonia.I:
		return unsafe.Pointer(v)
	case *gorgonia.B:
		return unsafe.Pointer(v)
	}
	return nil
}

func densePointer(d *tensor.Dense) unsafe.Pointer {
	switch d.Dtype() {
	case tensor.Float32:
		return unsafe.Pointer(unsafe.SliceData(d.Float32s()))
	case tensor.Float64:
		return unsafe.Pointer(unsafe.SliceData(d.Float64s()))
	case tensor.Int32:
		return unsafe.Pointer(unsafe.SliceData(d.Int32s()))
	case tensor.Int64:
		return unsafe.Pointer(unsafe.SliceData(d.Int64s()))
	case tensor.Int:
		return unsafe.Pointer(unsafe.SliceData(d.Ints()))
	case tensor.Bool:
		return unsafe.Pointer(unsafe.SliceData(d.Bools()))
	}
	return nil
}

// View returns a Gorgonia value over the memory of a CPU buffer, of element type t (which the buffer
// cannot tell for Go's int). Writing to one is seen in the other.
func View(b device.Buffer, t tensor.Dtype) gorgonia.Value {
	if len(b.Shape) == 0 {
		switch t {
		case tensor.Float32:
			return (*gorgonia.F32)(b.Ptr)
		case tensor.Float64:
			return (*gorgonia.F64)(b.Ptr)
		case tensor.Int32:
			return (*gorgonia.I32)(b.Ptr)
		case tensor.Int64:
			return (*gorgonia.I64)(b.Ptr)
		case tensor.Int:
			return (*gorgonia.I)(b.Ptr)
		case tensor.Bool:
			return (*gorgonia.B)(b.Ptr)
		}
	}
	return tensor.New(tensor.WithShape(b.Shape...), tensor.WithBacking(backing(b, t)))
}

func backing(b device.Buffer, t tensor.Dtype) any {
	switch t {
	case tensor.Float32:
		return device.Slice[float32](b)
	case tensor.Float64:
		return device.Slice[float64](b)
	case tensor.Int32:
		return device.Slice[int32](b)
	case tensor.Int64:
		return device.Slice[int64](b)
	case tensor.Int:
		return unsafe.Slice((*int)(b.Ptr), b.Len())
	}
	return device.Slice[bool](b)
}

// New returns a zeroed buffer of Go memory.
func New(s device.Spec) device.Buffer {
	n, shape := s.Len(), append([]int{}, s.Shape...) // not nil: that would be a vector's for device.Of
	switch s.DType {
	case device.Float32:
		return device.Of(make([]float32, n), shape...)
	case device.Float64:
		return device.Of(make([]float64, n), shape...)
	case device.Int32:
		return device.Of(make([]int32, n), shape...)
	case device.Int64:
		return device.Of(make([]int64, n), shape...)
	}
	return device.Of(make([]bool, n), shape...)
}
