//go:build unix

package cpu

import (
	"testing"
	"unsafe"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
	"tinylm/internal/guard"
)

// TestEmbeddingGradLeavesOtherRows adds into a table in place of which only the rows that the ids name are
// memory: the others must not be touched.
func TestEmbeddingGradLeavesOtherRows(t *testing.T) {
	const c, named, rows = 1024, 2, 3 // the last row is a forbidden page
	everySet(t, func(t *testing.T, set *simd.Set) {
		mem := guard.Before(t, named*c)
		for i := range mem {
			mem[i] = 1
		}
		table := device.Of(unsafe.Slice(&mem[0], rows*c), rows, c)
		ids, dy := device.Of([]int32{1, 0, 1}), device.Of(constant32(3*c, 0.5), 3, c)
		run, err := NewWith(2, set).Prepare(device.EmbeddingGrad{Add: true}, []device.Buffer{table}, []device.Buffer{table, ids, dy})
		if err != nil {
			t.Fatal(err)
		}
		if err := run(); err != nil {
			t.Fatal(err)
		}
		for i, v := range mem {
			if want := []float32{1.5, 2}[i/c]; v != want {
				t.Fatalf("value %d of the table is %v, want %v", i, v, want)
			}
		}
	})
}

func constant32(n int, v float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = v
	}
	return x
}
