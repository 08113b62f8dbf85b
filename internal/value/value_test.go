package value

import (
	"slices"
	"testing"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
)

// TestIntIsOfItsSize: Go's int has 4 or 8 bytes, and so has its buffer type.
func TestIntIsOfItsSize(t *testing.T) {
	typ, err := DTypeOf(tensor.Int)
	if err != nil {
		t.Fatal(err)
	}
	if want := int(unsafe.Sizeof(int(0))); typ.Size() != want {
		t.Errorf("int is handled as %v, of %d bytes, but has %d", typ, typ.Size(), want)
	}
	want := []int{3, -100, 1<<31 - 1, -1 << 31}
	b, err := BufferOf(tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(slices.Clone(want))))
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		got := 0
		if b.DType == device.Int32 {
			got = int(device.Slice[int32](b)[i])
		} else {
			got = int(device.Slice[int64](b)[i])
		}
		if got != w {
			t.Errorf("element %d is %d in the buffer, want %d", i, got, w)
		}
	}
	if got := View(b, tensor.Int).Data().([]int); !slices.Equal(got, want) {
		t.Errorf("back from the buffer %v, want %v", got, want)
	}
}

// TestNew: every shape is kept, and none, or an empty one, is a scalar's.
func TestNew(t *testing.T) {
	for _, typ := range []device.DType{device.Float32, device.Float64, device.Int32, device.Int64, device.Bool} {
		for _, shape := range [][]int{nil, {}, {1}, {3}, {2, 3}} {
			b := New(device.Spec{DType: typ, Shape: shape})
			if b.DType != typ || !slices.Equal(b.Shape, shape) {
				t.Errorf("a buffer of %v%v is %v", typ, shape, b.Spec)
			}
			for _, x := range unsafe.Slice((*byte)(b.Ptr), b.Bytes()) {
				if x != 0 {
					t.Errorf("a new buffer of %v%v is not zero", typ, shape)
				}
			}
		}
	}
	if v, ok := View(New(device.Spec{DType: device.Float64}), tensor.Float64).(*gorgonia.F64); !ok || !v.Shape().IsScalar() {
		t.Errorf("the value of a scalar buffer is %T", v)
	}
}

// TestNewKeepsACopy: a buffer does not follow the slice that its shape came from.
func TestNewKeepsACopy(t *testing.T) {
	shape := []int{2, 3}
	b := New(device.Spec{DType: device.Float32, Shape: shape})
	shape[0] = 7
	if b.Len() != 6 {
		t.Errorf("the buffer has become one of %v", b.Spec)
	}
}
