//go:build unix

// Package guard gives tests memory that ends, or begins, at a page which must not be touched, so that a
// kernel that reads or writes one element too far faults.
package guard

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Before returns n floats that end where a forbidden page begins.
func Before(t testing.TB, n int) []float32 {
	pages, size := mapped(t, n)
	return floats(pages[len(pages)-os.Getpagesize()-size:], n)
}

// After returns n floats that begin where a forbidden page ends.
func After(t testing.TB, n int) []float32 {
	pages, _ := mapped(t, n)
	return floats(pages[os.Getpagesize():], n)
}

// mapped maps the pages for n floats and a forbidden page on either side of them.
func mapped(t testing.TB, n int) (pages []byte, size int) {
	t.Helper()
	page := os.Getpagesize()
	size = 4 * n
	inner := (size + page - 1) / page * page
	pages, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(pages) })
	for _, forbidden := range [][]byte{pages[:page], pages[page+inner:]} {
		if err := unix.Mprotect(forbidden, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return pages, size
}

func floats(at []byte, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(at))), n)
}
