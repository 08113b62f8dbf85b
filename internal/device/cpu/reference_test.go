package cpu

import (
	"encoding/json"
	"math"
	"os"
	"sync"
	"testing"

	"tinylm/internal/device"
)

// refCase is one operator with values, an upstream gradient and the gradients of its inputs, computed
// by PyTorch in float64 (testdata/ops.json).
type refCase struct {
	Name                 string
	Attrs                map[string]any
	Inputs, Fixed, Grads map[string]refTensor
	Output, Upstream     refTensor
}

type refTensor struct {
	Shape []int
	Data  []float64
}

var refCases = sync.OnceValues(func() (map[string]refCase, error) {
	data, err := os.ReadFile("testdata/ops.json")
	if err != nil {
		return nil, err
	}
	var list []refCase
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	byName := map[string]refCase{}
	for _, c := range list {
		byName[c.Name] = c
	}
	return byName, nil
})

func reference(t *testing.T, name string) refCase {
	t.Helper()
	cases, err := refCases()
	if err != nil {
		t.Fatal(err)
	}
	c, ok := cases[name]
	if !ok {
		t.Fatalf("testdata/ops.json has no case %q", name)
	}
	return c
}

// inBoth runs a test in both working types.
func inBoth(t *testing.T, f32, f64 func(t *testing.T)) {
	t.Run("float32", f32)
	t.Run("float64", f64)
}

// buf returns a buffer with the values of x, converted.
func buf[T device.Element](x refTensor) device.Buffer { return bufOf[T](x.Shape, x.Data...) }

func bufOf[T device.Element](shape []int, values ...float64) device.Buffer {
	data := make([]T, len(values))
	for i, v := range values {
		switch p := any(&data[i]).(type) {
		case *float32:
			*p = float32(v)
		case *float64:
			*p = v
		case *int32:
			*p = int32(v)
		case *int64:
			*p = int64(v)
		case *bool:
			*p = v != 0
		}
	}
	return device.Of(data, append([]int{}, shape...)...)
}

// nan returns an output buffer full of NaN.
func nan[F float](shape ...int) device.Buffer {
	data := make([]float64, product(shape))
	for i := range data {
		data[i] = math.NaN()
	}
	return bufOf[F](shape, data...)
}

// launch prepares a kernel on a device of two workers and runs it.
func launch(t *testing.T, k device.Kernel, out, in []device.Buffer) {
	t.Helper()
	if err := tryLaunch(k, out, in); err != nil {
		t.Fatal(err)
	}
}

func tryLaunch(k device.Kernel, out, in []device.Buffer) error {
	run, err := New(2).Prepare(k, out, in)
	if err != nil {
		return err
	}
	return run()
}

// wantClose fails unless max|got-want| / max|want| is at most 1e-9 in float64 and 2e-5 in float32.
func wantClose[F float](t *testing.T, what string, got device.Buffer, want ...float64) {
	t.Helper()
	limit := 1e-9
	if device.TypeOf[F]() == device.Float32 {
		limit = 2e-5
	}
	wantWithin[F](t, what, limit*largest(want), got, want...)
}

func largest(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// wantWithin fails unless max|got-want| is at most limit.
func wantWithin[F float](t *testing.T, what string, limit float64, got device.Buffer, want ...float64) {
	t.Helper()
	g := device.Slice[F](got)
	if len(g) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(g), len(want))
	}
	for i, w := range want {
		if !(math.Abs(float64(g[i])-w) <= limit) {
			t.Fatalf("%s: value %d is %v, want %v within %.2g", what, i, g[i], w, limit)
		}
	}
}
