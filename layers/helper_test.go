package layers

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph/machine"
)

// array is a tensor of the reference values, row-major.
type array struct {
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

// f32 returns the elements as float32.
func (a array) f32() []float32 {
	s := make([]float32, len(a.Data))
	for i, v := range a.Data {
		s[i] = float32(v)
	}
	return s
}

// dense returns a copy as a tensor of type t.
func (a array) dense(t tensor.Dtype) *tensor.Dense {
	var backing any = append([]float64{}, a.Data...)
	if t == tensor.Float32 {
		backing = a.f32()
	}
	return tensor.New(tensor.WithShape(a.Shape...), tensor.WithBacking(backing))
}

// input adds an input node bound to a copy of a.
func (a array) input(g *gorgonia.ExprGraph, name string, t tensor.Dtype) *gorgonia.Node {
	return gorgonia.NewTensor(g, t, len(a.Shape), gorgonia.WithShape(a.Shape...), gorgonia.WithName(name),
		gorgonia.WithValue(a.dense(t)))
}

// randomArray holds numbers in about [-1, 1] that look random and are the same in every run.
func randomArray(seed int, shape ...int) array {
	a := array{Shape: shape, Data: make([]float64, tensor.Shape(shape).TotalSize())}
	for i := range a.Data {
		a.Data[i] = math.Sin(float64(seed*7919+i*i%1009*31+i) * 1.37)
	}
	return a
}

// columns joins matrices of equal height side by side.
func columns(ms ...array) array {
	rows, width := ms[0].Shape[0], 0
	for _, m := range ms {
		width += m.Shape[1]
	}
	out := array{Shape: []int{rows, width}}
	for r := range rows {
		for _, m := range ms {
			w := m.Shape[1]
			out.Data = append(out.Data, m.Data[r*w:(r+1)*w]...)
		}
	}
	return out
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readSafetensors reads tensors of type F32 or F64: a header's length, the header in JSON, the data.
func readSafetensors(t *testing.T, path string) map[string]array {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(raw)
	header := map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}{}
	if err := json.Unmarshal(raw[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	all := map[string]array{}
	for name, h := range header {
		if name == "__metadata__" {
			continue
		}
		a := array{Shape: h.Shape}
		for b := raw[8+int(n):][h.Offsets[0]:h.Offsets[1]]; len(b) > 0; {
			if h.DType == "F32" {
				a.Data = append(a.Data, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
				b = b[4:]
			} else {
				a.Data = append(a.Data, math.Float64frombits(binary.LittleEndian.Uint64(b)))
				b = b[8:]
			}
		}
		all[name] = a
	}
	return all
}

// run computes the outputs of a graph.
func run(t *testing.T, g *gorgonia.ExprGraph, outputs ...*gorgonia.Node) {
	t.Helper()
	vm, err := machine.New(g, machine.Outputs(outputs...))
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
}

// floats returns a copy of a node's value.
func floats(n *gorgonia.Node) []float64 {
	switch d := n.Value().Data().(type) {
	case float64:
		return []float64{d}
	case float32:
		return []float64{float64(d)}
	case []float64:
		return append([]float64{}, d...)
	case []float32:
		s := make([]float64, len(d))
		for i, v := range d {
			s[i] = float64(v)
		}
		return s
	}
	return nil
}

// relative is the greatest difference divided by the greatest reference value; infinite where the lengths
// differ or a value is not a number.
func relative(got, want []float64) float64 {
	if len(got) != len(want) || len(want) == 0 {
		return math.Inf(1)
	}
	var diff, scale float64
	for i := range want {
		d := math.Abs(got[i] - want[i])
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		diff, scale = max(diff, d), max(scale, math.Abs(want[i]))
	}
	if diff == 0 {
		return 0
	}
	return diff / scale
}

// tolerance is what results may differ from PyTorch's float64 ones.
func tolerance(t tensor.Dtype) float64 {
	if t == tensor.Float32 {
		return 2e-5
	}
	return 1e-9
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if e := relative(got, want); !(e <= tol) {
		t.Errorf("%s: relative error %.3g, want at most %.3g", what, e, tol)
	}
}

// eachForm runs a test for both types and both forms of operators.
func eachForm(t *testing.T, test func(t *testing.T, dt tensor.Dtype, composed bool)) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, composed := range []bool{false, true} {
			name := dt.Name() + "/fused"
			if composed {
				name = dt.Name() + "/composed"
			}
			t.Run(name, func(t *testing.T) { test(t, dt, composed) })
		}
	}
}

// must returns the value of a call that cannot fail in the test.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
