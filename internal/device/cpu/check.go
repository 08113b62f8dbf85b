package cpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tinylm/internal/device"
)

// checkCount reports a wrong number of buffers.
func checkCount(k device.Kernel, out, in []device.Buffer, outputs, inputs int) error {
	if len(out) != outputs || len(in) != inputs {
		return fmt.Errorf("cpu: %s takes %d inputs and %d outputs, got %d and %d",
			k.Name(), inputs, outputs, len(in), len(out))
	}
	return nil
}

// checkFloat reports a buffer that is not of the kernel's floating-point type.
func checkFloat[F float](k device.Kernel, buffers ...device.Buffer) error {
	return checkType(k, device.TypeOf[F](), buffers...)
}

func checkType(k device.Kernel, t device.DType, buffers ...device.Buffer) error {
	for _, b := range buffers {
		if b.DType != t {
			return fmt.Errorf("cpu: %s: want a buffer of %v, got %v", k.Name(), t, b.Spec)
		}
	}
	return nil
}

// checkInt reports a buffer that is neither int32 nor int64.
func checkInt(k device.Kernel, b device.Buffer) error {
	if b.DType != device.Int32 && b.DType != device.Int64 {
		return fmt.Errorf("cpu: %s: want a buffer of int32 or int64, got %v", k.Name(), b.Spec)
	}
	return nil
}

// checkShape reports a buffer, called what, whose shape is not want.
func checkShape(k device.Kernel, what string, b device.Buffer, want ...int) error {
	if !slices.Equal(b.Shape, want) {
		return fmt.Errorf("cpu: %s: %s has shape %v, want %v", k.Name(), what, b.Shape, want)
	}
	return nil
}

// errShapes is the error for buffers whose shapes do not fit together; rule says how they must.
func errShapes(k device.Kernel, rule string, buffers ...device.Buffer) error {
	var shapes []string
	for _, b := range buffers {
		shapes = append(shapes, fmt.Sprint(b.Shape))
	}
	return fmt.Errorf("cpu: %s: shapes %s: %s", k.Name(), strings.Join(shapes, " and "), rule)
}

// splitLast returns the number of rows, all leading axes together, and the length of the last axis.
// A scalar is one row of one element.
func splitLast(shape []int) (rows, last int) {
	if len(shape) == 0 {
		return 1, 1
	}
	n := len(shape) - 1
	return product(shape[:n]), shape[n]
}

// withLast returns shape with another last axis.
func withLast(shape []int, last int) []int {
	s := slices.Clone(shape)
	s[len(s)-1] = last
	return s
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// isSuffix tells whether suffix is the end of shape.
func isSuffix(suffix, shape []int) bool {
	return len(suffix) <= len(shape) && slices.Equal(suffix, shape[len(shape)-len(suffix):])
}

// chunkLen is the work of one chunk in elements that cost about a nanosecond each: enough to be worth
// waking a worker for. It is a multiple of 64, so that vector kernels meet whole vectors.
const chunkLen = 8192

// rowsPerChunk returns how many rows of the given cost make a chunk. It depends on shapes only.
func rowsPerChunk(cost int) int { return max(1, chunkLen/max(1, cost)) }

// chunksOf returns the number of chunks of size that cover n.
func chunksOf(n, size int) int { return (n + size - 1) / size }

// chunkRange returns the part of n that a chunk covers.
func chunkRange(chunk, size, n int) (from, to int) {
	return chunk * size, min(n, (chunk+1)*size)
}

// takeBase splits the inputs of a kernel whose output 0 is added to input 0 when add is set: base, which is
// like output 0 (a buffer that is not there otherwise), and the other inputs. It checks the counts of buffers
// given without base.
func takeBase[F float](k device.Kernel, add bool, out, in []device.Buffer, outputs, inputs int) (
	base device.Buffer, rest []device.Buffer, err error) {
	if !add {
		return base, in, checkCount(k, out, in, outputs, inputs)
	}
	if err := checkCount(k, out, in, outputs, inputs+1); err != nil {
		return base, in, err
	}
	base = in[0]
	return base, in[1:], cmp.Or(checkFloat[F](k, base), checkShape(k, "base", base, out[0].Shape...))
}
