// Package device is the one boundary between operators and the hardware that runs them:
// buffers, and kernels described as plain data.
//
// An operator says what to compute with a [Kernel] (a struct of attributes, see kernels.go); a
// [Device] binds a kernel to buffers once, with Prepare, and the returned [Launch] runs it as often as
// wanted. Everything that allocates happens in Prepare; a Launch allocates nothing.
//
// The package knows no graph. Every device passes the suite in internal/device/devicetest.
package device

import (
	"fmt"
	"unsafe"
)

// DType is the element type of a buffer.
type DType uint8

// The element types that kernels know.
const (
	Float32 DType = iota + 1
	Float64
	Int32
	Int64
	Bool
)

// Size returns the bytes of one element.
func (t DType) Size() int {
	switch t {
	case Float32, Int32:
		return 4
	case Float64, Int64:
		return 8
	case Bool:
		return 1
	}
	panic(fmt.Sprintf("device: unknown element type %d", t))
}

func (t DType) String() string {
	switch t {
	case Float32:
		return "float32"
	case Float64:
		return "float64"
	case Int32:
		return "int32"
	case Int64:
		return "int64"
	case Bool:
		return "bool"
	}
	return fmt.Sprintf("DType(%d)", uint8(t))
}

// Spec is the type and shape of a buffer. A scalar has an empty shape and one element.
type Spec struct {
	DType DType
	Shape []int
}

// Len returns the number of elements.
func (s Spec) Len() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// Bytes returns the size of the elements in bytes.
func (s Spec) Bytes() int { return s.Len() * s.DType.Size() }

func (s Spec) String() string { return fmt.Sprintf("%v%v", s.DType, s.Shape) }

// Buffer is memory of a device: row-major, contiguous, of a fixed type and shape.
//
// An output buffer whose Ptr is nil is not wanted: the kernel does not compute it.
type Buffer struct {
	Spec
	Ptr unsafe.Pointer // first element; on the CPU ordinary Go memory, kept alive by this pointer
}

// Element lists the Go types of buffer elements.
type Element interface {
	float32 | float64 | int32 | int64 | bool
}

// TypeOf returns the DType of T.
func TypeOf[T Element]() DType {
	var z T
	switch any(z).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int32:
		return Int32
	case int64:
		return Int64
	}
	return Bool
}

// Of wraps data as a buffer of the given shape; no shape means one axis of len(data), an empty one that is
// not nil ([]int{}...) a scalar.
// It panics when the shape does not hold len(data) elements.
func Of[T Element](data []T, shape ...int) Buffer {
	if shape == nil {
		shape = []int{len(data)}
	}
	b := Buffer{Spec: Spec{TypeOf[T](), shape}, Ptr: unsafe.Pointer(unsafe.SliceData(data))}
	if b.Len() != len(data) {
		panic(fmt.Sprintf("device: shape %v holds %d elements, data has %d", shape, b.Len(), len(data)))
	}
	return b
}

// Slice returns the elements of a CPU buffer, without copying; nil when the buffer is not wanted.
// It panics when T is not the buffer's type.
func Slice[T Element](b Buffer) []T {
	if b.Ptr == nil {
		return nil
	}
	if b.DType != TypeOf[T]() {
		panic(fmt.Sprintf("device: buffer of %v read as %v", b.DType, TypeOf[T]()))
	}
	return unsafe.Slice((*T)(b.Ptr), b.Len())
}

// Launch runs a prepared kernel. It allocates nothing and returns an error for data that the kernel
// cannot take (an id outside its table); shapes were checked by Prepare.
type Launch func() error

// Device runs kernels. Kernels of one device run one at a time, in the order of the Launch calls.
type Device interface {
	// Name is "cpu" or "cuda".
	Name() string
	// Alloc returns zeroed memory, aligned to 64 bytes.
	Alloc(bytes int) (unsafe.Pointer, error)
	// Prepare checks types and shapes, binds the kernel to its buffers and reserves scratch memory.
	// An output may share the memory of input 0 when the kernel is InPlace, and of no other.
	Prepare(k Kernel, out, in []Buffer) (Launch, error)
}

// Operator is what a graph's operator offers to a machine: the kernel, and the buffers it fills.
type Operator interface {
	Kernel() Kernel
	// Outputs lists the results. A packed operator (more than one result) is seen by the graph as one
	// flat vector holding them one after the other, from which operators of type [Part] take each.
	Outputs() []Spec
}

// Part is an operator that takes one result out of a packed operator.
type Part interface {
	Part() int
}

// Virtual marks an operator that exists for Gorgonia's bookkeeping only; a machine skips it.
type Virtual interface {
	Virtual()
}
