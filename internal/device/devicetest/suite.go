// Package devicetest is the suite that every [device.Device] passes: each kernel over many shapes, in
// float32 and float64, against a plain reference computed in float64.
package devicetest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"tinylm/internal/device"
)

// Tensor is an input's values, or the type and shape of an output. Values are held as float64 whatever
// their type; a bool is 0 or 1.
type Tensor struct {
	DType device.DType // zero: the floating-point type under test
	Shape []int
	Data  []float64 // row-major; unused in outputs
}

// Case is one kernel on given inputs.
type Case struct {
	Name   string
	Kernel device.Kernel
	In     []Tensor
	Out    []Tensor

	// Ref computes all outputs from the inputs, already rounded to the type under test.
	Ref func(in [][]float64) [][]float64
	// Exact asks for equal values. Otherwise max|ours-ref|/max|ref| of each output is at most 2e-5 in
	// float32 and 1e-9 in float64, and values of the reference that are not finite are met exactly.
	Exact bool
	// Shared is the number of outputs that are always the same buffers as the inputs of equal index.
	Shared int
	// State is the number of inputs, the first ones, that the kernel writes: memory that outlives a launch.
	// Ref gives what they hold then after the outputs. A second launch writes the same again.
	State int

	// PrepareErr and LaunchErr, when not empty, are parts of the error that Prepare or the launch must
	// give; Ref is then unused.
	PrepareErr, LaunchErr string
}

var types = []device.DType{device.Float32, device.Float64}

func cases() []Case { return slices.Concat(denseCases(), rowCases(), fillCases()) }

// Run checks d: values, errors, outputs that are not wanted, outputs on top of inputs, inputs and
// neighbouring memory left alone, and a second launch that gives the same bits as the first.
func Run(t *testing.T, d device.Device) {
	for _, c := range cases() {
		for _, typ := range types {
			t.Run(fmt.Sprintf("%s/%s/%v", c.Kernel.Name(), c.Name, typ), func(t *testing.T) {
				c.check(t, d, typ)
			})
		}
	}
}

// Same checks that all devices give the same bits.
func Same(t *testing.T, devices ...device.Device) {
	for _, c := range cases() {
		if c.PrepareErr != "" || c.LaunchErr != "" {
			continue
		}
		for _, typ := range types {
			t.Run(fmt.Sprintf("%s/%s/%v", c.Kernel.Name(), c.Name, typ), func(t *testing.T) {
				first := c.bind(t, devices[0], typ, nil, false)
				first.launch(t)
				for i, d := range devices[1:] {
					b := c.bind(t, d, typ, nil, false)
					b.launch(t)
					for o, m := range b.results() {
						if !bytes.Equal(m.bytes(), first.results()[o].bytes()) {
							t.Errorf("output %d: device %d gives other bits than device 0", o, i+1)
						}
					}
				}
			})
		}
	}
}

func (c Case) check(t *testing.T, d device.Device, typ device.DType) {
	if c.PrepareErr != "" {
		_, err := d.Prepare(c.Kernel, buffers(c.place(t, d, c.Out, typ)), buffers(c.place(t, d, c.In, typ)))
		wantError(t, err, c.PrepareErr)
		return
	}
	all := c.bind(t, d, typ, nil, false)
	if c.LaunchErr != "" {
		wantError(t, all.run(), c.LaunchErr)
		return
	}
	inputs := all.inputs()
	ref := c.Ref(inputs)
	all.launch(t)
	for i, o := range all.results() {
		compare(t, fmt.Sprintf("output %d", i), o.values(), ref[i], o.DType, c.Exact)
	}
	all.intact(t, c, inputs)

	if c.Shared == 0 {
		want := all.snapshot()
		all.launch(t)
		all.same(t, "second launch", want)
		all.checkAllocs(t)
		if len(c.Out) > 1 {
			for i := range c.Out {
				one := c.bind(t, d, typ, func(o int) bool { return o == i }, false)
				one.launch(t)
				one.same(t, fmt.Sprintf("output %d alone", i), want)
				one.intact(t, c, inputs)
			}
		}
		none := c.bind(t, d, typ, func(int) bool { return false }, false)
		none.launch(t)
		none.intact(t, c, inputs)
		if c.Kernel.InPlace() {
			over := c.bind(t, d, typ, nil, true)
			over.launch(t)
			over.same(t, "in place", want)
		}
	}
}

// bound is a case prepared on a device.
type bound struct {
	out, in []memory
	state   int
	run     device.Launch
}

// results returns what a launch writes: the outputs, then the state.
func (b bound) results() []memory { return slices.Concat(b.out, b.in[:b.state]) }

// bind places the case's tensors and prepares the kernel. wanted selects outputs (nil: all); with over,
// output 0 lies on input 0.
func (c Case) bind(t *testing.T, d device.Device, typ device.DType, wanted func(int) bool, over bool) bound {
	t.Helper()
	b := bound{in: c.place(t, d, c.In, typ), out: c.place(t, d, c.Out, typ), state: c.State}
	copy(b.out, b.in[:c.Shared])
	if over {
		b.out[0] = b.in[0]
	}
	for i := range b.out {
		if wanted != nil && !wanted(i) {
			b.out[i].Ptr = nil
		}
	}
	run, err := d.Prepare(c.Kernel, buffers(b.out), buffers(b.in))
	if err != nil {
		t.Fatal(err)
	}
	b.run = run
	return b
}

func (b bound) launch(t *testing.T) {
	t.Helper()
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
}

// checkAllocs fails when each of a few launches allocates; the runtime itself may do so now and then.
func (b bound) checkAllocs(t *testing.T) {
	t.Helper()
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.launch(t)
		runtime.ReadMemStats(&after)
		if after.Mallocs == before.Mallocs {
			return
		}
	}
	t.Error("a launch allocates memory")
}

func (b bound) inputs() [][]float64 {
	var v [][]float64
	for _, m := range b.in {
		v = append(v, m.values())
	}
	return v
}

func (b bound) snapshot() [][]byte {
	var s [][]byte
	for _, m := range b.results() {
		s = append(s, bytes.Clone(m.bytes()))
	}
	return s
}

// same fails unless every wanted output holds the bytes in want.
func (b bound) same(t *testing.T, what string, want [][]byte) {
	t.Helper()
	for i, m := range b.results() {
		if m.Ptr != nil && !bytes.Equal(m.bytes(), want[i]) {
			t.Errorf("%s: output %d has other bits than in the first launch", what, i)
		}
	}
}

// intact fails when an input changed that is no output, or when memory beside a buffer was written.
func (b bound) intact(t *testing.T, c Case, inputs [][]float64) {
	t.Helper()
	for i, m := range b.in {
		if i >= max(c.Shared, c.State) && !slices.EqualFunc(m.values(), inputs[i], equal) {
			t.Errorf("input %d was overwritten", i)
		}
	}
	for i, m := range slices.Concat(b.out, b.in) {
		if !m.guarded() {
			t.Errorf("memory beside buffer %d (outputs first) was overwritten", i)
		}
	}
}

// memory is a buffer between two guards.
type memory struct {
	device.Buffer
	whole []byte
}

const guard = 64

// place allocates a tensor's memory, poisons it and fills in the data if there is any.
func (c Case) place(t *testing.T, d device.Device, ts []Tensor, typ device.DType) []memory {
	t.Helper()
	var ms []memory
	for _, x := range ts {
		spec := device.Spec{DType: x.DType, Shape: x.Shape}
		if x.DType == 0 {
			spec.DType = typ
		}
		p, err := d.Alloc(spec.Bytes() + 2*guard)
		if err != nil {
			t.Fatal(err)
		}
		m := memory{device.Buffer{Spec: spec, Ptr: unsafe.Add(p, guard)}, unsafe.Slice((*byte)(p), spec.Bytes()+2*guard)}
		for i := range m.whole {
			m.whole[i] = 0xff // NaN in both floating-point types
		}
		if x.Data != nil {
			m.set(x.Data)
		}
		ms = append(ms, m)
	}
	return ms
}

func (m memory) guarded() bool {
	end := m.whole[len(m.whole)-guard:]
	for i, b := range m.whole[:guard] {
		if b != 0xff || end[i] != 0xff {
			return false
		}
	}
	return true
}

func (m memory) bytes() []byte { return m.whole[guard : len(m.whole)-guard] }

func (m memory) set(v []float64) {
	for i, x := range v {
		switch m.DType {
		case device.Float32:
			device.Slice[float32](m.Buffer)[i] = float32(x)
		case device.Float64:
			device.Slice[float64](m.Buffer)[i] = x
		case device.Int32:
			device.Slice[int32](m.Buffer)[i] = int32(x)
		case device.Int64:
			device.Slice[int64](m.Buffer)[i] = int64(x)
		case device.Bool:
			device.Slice[bool](m.Buffer)[i] = x != 0
		}
	}
}

func (m memory) values() []float64 {
	v := make([]float64, m.Len())
	for i := range v {
		switch m.DType {
		case device.Float32:
			v[i] = float64(device.Slice[float32](m.Buffer)[i])
		case device.Float64:
			v[i] = device.Slice[float64](m.Buffer)[i]
		case device.Int32:
			v[i] = float64(device.Slice[int32](m.Buffer)[i])
		case device.Int64:
			v[i] = float64(device.Slice[int64](m.Buffer)[i])
		case device.Bool:
			if device.Slice[bool](m.Buffer)[i] {
				v[i] = 1
			}
		}
	}
	return v
}

func buffers(ms []memory) []device.Buffer {
	var b []device.Buffer
	for _, m := range ms {
		b = append(b, m.Buffer)
	}
	return b
}

// compare checks one output against the reference; see [Case.Exact].
func compare(t *testing.T, what string, got, want []float64, typ device.DType, exact bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: the reference has %d values, the output %d", what, len(want), len(got))
	}
	worst, at, scale := 0.0, 0, 0.0
	for i, w := range want {
		if exact || math.IsNaN(w) || math.IsInf(w, 0) {
			if !equal(got[i], w) {
				t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
			}
			continue
		}
		if e := math.Abs(got[i] - w); e > worst || math.IsNaN(e) {
			worst, at = e, i
			if math.IsNaN(e) {
				t.Fatalf("%s: value %d is NaN, want %v", what, i, w)
			}
		}
		scale = max(scale, math.Abs(w))
	}
	limit := 2e-5
	if typ == device.Float64 {
		limit = 1e-9
	}
	if worst > limit*scale {
		t.Errorf("%s: value %d is %v, want %v (error %.2g of the largest value, at most %.0g allowed)",
			what, at, got[at], want[at], worst/scale, limit)
	}
}

func equal(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error is %v, want one with %q", err, part)
	}
}

// random returns normally distributed values, the same for the same seed.
func random(seed uint64, shape ...int) Tensor {
	r := rand.New(rand.NewPCG(seed, 1))
	x := empty(shape...)
	x.Data = make([]float64, device.Spec{Shape: shape}.Len())
	for i := range x.Data {
		x.Data[i] = r.NormFloat64()
	}
	return x
}

// empty describes an output of the type under test.
func empty(shape ...int) Tensor { return Tensor{Shape: shape} }

// of holds given values in another type or shape than the one under test (typ 0) or a flat one.
func of(typ device.DType, shape []int, v ...float64) Tensor {
	return Tensor{DType: typ, Shape: shape, Data: v}
}
