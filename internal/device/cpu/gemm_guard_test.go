//go:build unix

package cpu

import (
	"fmt"
	"testing"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
	"tinylm/internal/guard"
)

// TestProductsStayInside multiplies matrices that end where a forbidden page begins, or begin where one ends,
// in every layout, and compares with sums in float64.
func TestProductsStayInside(t *testing.T) {
	sizes := [][3]int{ // rows, inputs, outputs
		{1, 1, 1}, {1, 17, 33}, {5, 40, 7}, {3, 1024, 35}, {7, 31, 65}, {15, 33, 64}, {29, 16, 17},
		{98, 5, 31}, {33, 1024, 33}, {33, 9, 1024}, {100, 400, 20},
	}
	for name, alloc := range map[string]func(testing.TB, int) []float32{"before": guard.Before, "after": guard.After} {
		everySet(t, func(t *testing.T, set *simd.Set) {
			d := NewWith(2, set)
			for _, s := range sizes {
				for _, trans := range []bool{false, true} {
					t.Run(fmt.Sprint(name, s, trans), func(t *testing.T) {
						checkInside(t, d, alloc, s[0], s[1], s[2], trans)
					})
				}
			}
		})
	}
}

func checkInside(t *testing.T, d *Device, alloc func(testing.TB, int) []float32, n, k, m int, trans bool) {
	fill := func(size, seed int) []float32 {
		x := alloc(t, size)
		for i := range x {
			x[i] = float32((i*7+seed)%11) - 5
		}
		return x
	}
	x, w, bias, residual := fill(n*k, 1), fill(k*m, 2), fill(m, 3), fill(n*m, 4)
	y, dw := alloc(t, n*m), alloc(t, k*m)
	wk, wm, step, jump := k, m, m, 1 // strides of w
	if trans {
		wk, wm, step, jump = m, k, 1, k
	}
	prepare := func(kernel device.Kernel, out device.Buffer, in ...device.Buffer) {
		t.Helper()
		run, err := d.Prepare(kernel, []device.Buffer{out}, in)
		if err == nil {
			err = run()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	prepare(device.Linear{TransW: trans, Bias: true, Residual: true}, device.Of(y, n, m),
		device.Of(x, n, k), device.Of(w, wk, wm), device.Of(bias, m), device.Of(residual, n, m))
	for i := range n {
		for j := range m {
			want := float64(bias[j] + residual[i*m+j])
			for p := range k {
				want += float64(x[i*k+p] * w[p*step+j*jump])
			}
			exactly(t, "y", float64(y[i*m+j]), want)
		}
	}
	prepare(device.LinearWeightGrad{TransW: trans}, device.Of(dw, wk, wm), device.Of(x, n, k), device.Of(residual, n, m))
	for p := range k {
		for j := range m {
			want := 0.0
			for i := range n {
				want += float64(x[i*k+p] * residual[i*m+j])
			}
			exactly(t, "dw", float64(dw[p*step+j*jump]), want)
		}
	}
}

// exactly compares sums of whole numbers, which float32 holds without error.
func exactly(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}
