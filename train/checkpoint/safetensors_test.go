package checkpoint

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	second "github.com/nlpodyssey/safetensors"
)

// sameBits compares float32 slices with NaN equal to itself and 0 unlike -0.
var sameBits = cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })

func TestReadSafetensorsOfOthers(t *testing.T) {
	two := []Tensor{{"a", []int{2}, []float32{1, 2}}, {"b", []int{2}, []float32{3, 4}}}
	one := two[:1]
	nan := math.Float32frombits(0x7FC00000)
	for name, want := range map[string][]Tensor{
		"empty_meta": one, "meta": one, "space_pad": one, "order": two, "two": two,
		"nan_values": {{"a", []int{2}, []float32{nan, float32(math.Inf(1))}}},
		"scalar":     {{"a", []int{}, []float32{1}}},
		"zero_dim":   {{"z", []int{0, 3}, []float32{}}, {"a", []int{2}, []float32{1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, metadata, err := ReadSafetensorsFile[float32]("testdata/st_ok_" + name + ".safetensors")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, sameBits); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if name == "meta" && metadata["k"] != "v" {
				t.Errorf("metadata %v, want k: v", metadata)
			}
		})
	}
}

func TestReadSafetensorsHostile(t *testing.T) {
	files, err := filepath.Glob("testdata/st_bad_*.safetensors")
	if err != nil || len(files) != 25 {
		t.Fatalf("%d files, %v; want 25", len(files), err)
	}
	for _, path := range files {
		t.Run(strings.TrimPrefix(path, "testdata/st_bad_"), func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := ReadSafetensorsFile[float32](path)
			runtime.ReadMemStats(&after)
			var format *FormatError
			if !errors.As(err, &format) || format.File != path || format.Reason == "" {
				t.Errorf("error %#v, want a *FormatError that names %s", err, path)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 {
				t.Errorf("%d bytes allocated for a file of less than 200", grown)
			}
		})
	}
}

// The file was written by Python's safetensors from torch tensors of each type.
func TestReadSafetensorsTypes(t *testing.T) {
	want := map[string][]float64{
		"f64":  {1.5, -2, 1.0 / 3, 1e-310, 1e300, math.Inf(-1)},
		"f32":  {0.3333333432674408, 3.3999999521443642e+38, 1.401298464324817e-45},
		"f16":  {0.333251953125, 65504, 0x1p-24, -0x1p-14, math.Inf(1)},
		"bf16": {0.333984375, -3.3895313892515355e+38},
	}
	const path = "testdata/torch_dtypes.safetensors"
	wide, metadata, err := ReadSafetensorsFile[float64](path)
	if err != nil || metadata["format"] != "pt" {
		t.Fatal(metadata, err)
	}
	narrow, _, err := ReadSafetensorsFile[float32](path)
	if err != nil || len(wide) != 4 || len(narrow) != 4 {
		t.Fatal(len(wide), len(narrow), err)
	}
	for i := range wide {
		values := want[wide[i].Name]
		if !slices.Equal(wide[i].Data, values) {
			t.Errorf("%s as float64: %v, want %v", wide[i].Name, wide[i].Data, values)
		}
		for j, v := range values {
			if narrow[i].Data[j] != float32(v) {
				t.Errorf("%s as float32: %v at %d, want %v", narrow[i].Name, narrow[i].Data[j], j, float32(v))
			}
		}
	}
	if _, _, err := ReadSafetensorsFile[float32]("testdata/torch_bool.safetensors"); err == nil || !strings.Contains(err.Error(), "BOOL") {
		t.Errorf("a tensor of bools: error %v, want one that names BOOL", err)
	}
}

// Every half, against its definition (IEEE 754-2019, 3.4) in float64.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		exponent, fraction := h>>10&31, float64(h&1023)
		want := math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction/1024, -14)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if h>>15 == 1 {
			want = -want
		}
		got := float64(fromHalf(uint16(h)))
		if math.IsNaN(want) != math.IsNaN(got) || !math.IsNaN(want) && (got != want || math.Signbit(got) != math.Signbit(want)) {
			t.Fatalf("half %#04x = %v, want %v", h, got, want)
		}
	}
}

func sampleTensors() []Tensor {
	long := make([]float32, 40_000) // more than a chunk of 64 KiB
	for i := range long {
		long[i] = float32(i) / 7
	}
	return []Tensor{
		{"transformer.wte.weight", []int{100, 400}, long},
		{"a <b> \"ü\"", []int{3, 1}, []float32{-1.5, float32(math.Inf(-1)), float32(math.Copysign(0, -1))}},
		{"scalar", nil, []float32{1e-45}},
		{"none", []int{0, 3}, nil},
	}
}

func write(t *testing.T, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := WriteSafetensors(&file, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What we write, the reader of another project reads to the same names, shapes, values and metadata.
func TestWriteSafetensorsSecondReader(t *testing.T) {
	tensors := sampleTensors()
	file := write(t, tensors, map[string]string{"format": "pt", "note": "<&>"})
	n, header, err := second.ReadMetadata(file)
	if err != nil {
		t.Fatal(err)
	}
	if n%8 != 0 || header.Metadata()["format"] != "pt" || header.Metadata()["note"] != "<&>" {
		t.Errorf("header of %d bytes, metadata %v", n, header.Metadata())
	}
	read, err := second.Deserialize(file)
	if err != nil || read.Len() != len(tensors) {
		t.Fatal(read.Len(), err)
	}
	for _, want := range tensors {
		got, ok := read.Tensor(want.Name)
		if !ok || got.DType() != second.F32 || len(got.Shape()) != len(want.Shape) {
			t.Fatalf("%s: %v %v %v", want.Name, ok, got.DType(), got.Shape())
		}
		for i, d := range want.Shape {
			if got.Shape()[i] != uint64(d) {
				t.Errorf("%s has shape %v, want %v", want.Name, got.Shape(), want.Shape)
			}
		}
		for i, v := range want.Data {
			b := got.Data()[4*i:]
			if bits := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24; bits != math.Float32bits(v) {
				t.Fatalf("%s[%d] has bits %#x, want %#x", want.Name, i, bits, math.Float32bits(v))
			}
		}
	}
}

func TestSafetensorsRoundTrip(t *testing.T) {
	want := sampleTensors()
	file := write(t, want, map[string]string{"format": "pt"})
	got, metadata, err := ReadSafetensors[float32](bytes.NewReader(file), int64(len(file)), "f")
	if err != nil || len(metadata) != 1 || metadata["format"] != "pt" {
		t.Fatal(metadata, err)
	}
	want[2].Shape, want[3].Data = []int{}, []float32{}
	if diff := cmp.Diff(want, got, sameBits); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if empty := write(t, nil, nil); string(empty) != "\x08\x00\x00\x00\x00\x00\x00\x00{}      " {
		t.Errorf("no tensors: %q", empty)
	}
}

// A file that says more in its header than it holds, at any length, is refused.
func TestReadSafetensorsTruncated(t *testing.T) {
	file := write(t, []Tensor{{"a", []int{4}, make([]float32, 4)}, {"b", []int{2, 2}, make([]float32, 4)}}, nil)
	for n := range file {
		for _, size := range []int{n, len(file)} { // as the directory says, and as it said before
			_, _, err := ReadSafetensors[float32](bytes.NewReader(file[:n]), int64(size), "f")
			if format := (*FormatError)(nil); !errors.As(err, &format) {
				t.Errorf("the first %d bytes, size %d: error %v", n, size, err)
			}
		}
	}
}

func TestWriteSafetensorsRefuses(t *testing.T) {
	one := Tensor{"a", []int{1}, []float32{1}}
	for want, tensors := range map[string][]Tensor{
		"two tensors are named":                    {one, one},
		"cannot be the name":                       {{"__metadata__", []int{1}, []float32{1}}},
		`"\xff" cannot be the name`:                {{"\xff", []int{1}, []float32{1}}},
		`"a" has shape [2,3] but 5 values`:         {{"a", []int{2, 3}, make([]float32, 5)}},
		`"a" has shape [-1,-1] but 1 values`:       {{"a", []int{-1, -1}, []float32{1}}},
		`"a" has shape [] but 0 values`:            {{"a", nil, nil}},
		`"a" has shape [2147483647,2147483647,8] `: {{"a", []int{math.MaxInt32, math.MaxInt32, 8}, nil}},
	} {
		var file bytes.Buffer
		err := WriteSafetensors(&file, tensors, nil)
		if err == nil || !strings.Contains(err.Error(), want) || file.Len() != 0 {
			t.Errorf("error %v and %d bytes, want %q and none", err, file.Len(), want)
		}
	}
}

func FuzzReadSafetensors(f *testing.F) {
	files, err := filepath.Glob("testdata/*.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		file, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, metadata, err := ReadSafetensors[float32](bytes.NewReader(file), int64(len(file)), "f")
		if err != nil {
			if format := (*FormatError)(nil); !errors.As(err, &format) {
				t.Fatalf("error %T: %v", err, err)
			}
			return
		}
		if _, err := second.Deserialize(file); err != nil {
			t.Fatalf("accepted here, but another reader says %v", err)
		}
		again := write(t, tensors, metadata)
		back, _, err := ReadSafetensors[float32](bytes.NewReader(again), int64(len(again)), "f")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tensors, back, sameBits); diff != "" {
			t.Fatalf("-read +written and read:\n%s", diff)
		}
	})
}
