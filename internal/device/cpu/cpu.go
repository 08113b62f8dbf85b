// Package cpu is the device that every machine has: kernels over Go memory, for float32 the vector kernels of
// package simd where the processor has them, else plain Go, spread over the cores by one pool of workers. Results
// do not depend on the number of workers.
package cpu

import (
	"fmt"
	"sync"
	"unsafe"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// Device runs kernels on the CPU. It is safe for concurrent use; kernels run one at a time.
type Device struct {
	mu      sync.Mutex // held while a kernel runs: the pool and the scratch are shared
	pool    *pool
	scratch [][]byte // per worker, as large as the neediest kernel prepared so far
	shared  []byte   // the same, for all workers together
	vector  *simd.Set
}

// New returns a device with its own workers, 0 meaning GOMAXPROCS, that runs the vector kernels chosen by
// [simd.FromEnv]. It panics when the environment names kernels that this machine cannot run; see [Check].
func New(workers int) *Device {
	set, err := simd.FromEnv()
	if err != nil {
		panic(err)
	}
	return NewWith(workers, set)
}

// Check reports an environment that New would not take.
func Check() error {
	_, err := simd.FromEnv()
	return err
}

// NewWith is New with the vector kernels given; nil means plain Go.
func NewWith(workers int, vector *simd.Set) *Device {
	p := newPool(workers)
	return &Device{pool: p, scratch: make([][]byte, p.workers), vector: vector}
}

var shared = sync.OnceValue(func() *Device { return New(0) })

// Default returns the process's shared device, with GOMAXPROCS workers at its first use.
func Default() *Device { return shared() }

// Name is "cpu".
func (d *Device) Name() string { return "cpu" }

// Workers returns the number of workers.
func (d *Device) Workers() int { return d.pool.workers }

// ISA names the instruction set of the kernels: that of the vector kernels, or "generic".
func (d *Device) ISA() string {
	if d.vector == nil {
		return simd.Generic
	}
	return d.vector.Name
}

// vectors returns the vector kernels for elements of F, nil where plain Go is to run: for float64.
func vectors[F float](d *Device) *simd.Set {
	var z F
	if _, ok := any(z).(float32); !ok {
		return nil
	}
	return d.vector
}

// address returns the address of the first element of x, whose elements are float32.
func address[F float](x []F) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }

// Alloc returns zeroed Go memory, aligned to 64 bytes; a large one to huge pages, and of such where the
// system has them: products read many rows at once, each of which would need a page of its own.
func (d *Device) Alloc(bytes int) (unsafe.Pointer, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("cpu: cannot allocate %d bytes", bytes)
	}
	return aligned(bytes), nil
}

const hugePage = 2 << 20

func aligned(bytes int) unsafe.Pointer {
	align := 64
	if bytes >= hugePage/2 {
		align = hugePage
		bytes = roundUp(bytes, align)
	}
	mem := make([]byte, bytes+align)
	from := (align - int(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%uintptr(align))) % align
	mem = mem[from : from+bytes]
	if align == hugePage {
		adviseHuge(mem)
	}
	return unsafe.Pointer(unsafe.SliceData(mem))
}

// reserve makes the scratch memory of every worker hold at least bytes. Called by Prepare.
func (d *Device) reserve(bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, s := range d.scratch {
		if len(s) < bytes {
			d.scratch[i] = unsafe.Slice((*byte)(aligned(bytes)), bytes)
		}
	}
}

// ScratchBytes returns the scratch memory of all workers together.
func (d *Device) ScratchBytes() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var n int64
	for _, s := range d.scratch {
		n += int64(len(s))
	}
	return n
}

// reserveShared makes the scratch memory that the workers share hold at least bytes. Called by Prepare.
func (d *Device) reserveShared(bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.shared) < bytes {
		d.shared = unsafe.Slice((*byte)(aligned(bytes)), bytes)
	}
}

// scratchOf returns a worker's scratch memory as elements of T; it holds what was reserved, with
// whatever the kernel before left in it. Called inside a kernel.
func scratchOf[T float](d *Device, worker int) []T {
	return elements[T](d.scratch[worker])
}

// sharedOf is scratchOf for the memory that the workers share.
func sharedOf[T float](d *Device) []T { return elements[T](d.shared) }

func elements[T float](s []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s))), len(s)/int(unsafe.Sizeof(z)))
}

// float is the type parameter of all kernels.
type float interface{ float32 | float64 }

// parallel returns a Launch that runs body once per chunk. body is created once, here, so that a
// launch allocates nothing.
func (d *Device) parallel(chunks int, body func(chunk, worker int)) device.Launch {
	return func() error {
		d.mu.Lock()
		defer d.mu.Unlock() // the body may panic
		d.pool.run(chunks, body)
		return nil
	}
}
