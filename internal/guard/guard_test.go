//go:build unix

package guard

import (
	"runtime/debug"
	"testing"
	"unsafe"
)

// TestForbidden touches the element after Before's last and before After's first.
func TestForbidden(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, n := range []int{1, 5, 1024, 1025} {
		before, after := Before(t, n), After(t, n)
		before[0], before[n-1], after[0], after[n-1] = 1, 1, 1, 1
		if !faults(unsafe.Add(unsafe.Pointer(&before[n-1]), 4)) {
			t.Errorf("%d floats: the one behind the last can be read", n)
		}
		if !faults(unsafe.Add(unsafe.Pointer(&after[0]), -4)) {
			t.Errorf("%d floats: the one before the first can be read", n)
		}
	}
}

var sink float32

func faults(p unsafe.Pointer) (fault bool) {
	defer func() { fault = recover() != nil }()
	sink = *(*float32)(p)
	return false
}
