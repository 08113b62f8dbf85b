package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"tinylm/data"
)

// The safetensors format: a little-endian uint64 with the length of the header, the header (a JSON
// object from name to dtype, shape and data offsets, padded with spaces), then the data of all
// tensors, little-endian and row-major, without hole or overlap.
// See https://github.com/huggingface/safetensors#format.

// maxHeader is the longest header that readers accept, in bytes.
const maxHeader = 100_000_000

// metadataKey is the header's entry that is not a tensor.
const metadataKey = "__metadata__"

// TensorOf is a named array of values in row-major order.
type TensorOf[F float32 | float64] struct {
	Name  string
	Shape []int // empty for a scalar
	Data  []F   // as many values as the product of Shape
}

// Tensor is a named array of float32, the type that checkpoints hold.
type Tensor = TensorOf[float32]

// WriteSafetensors writes the tensors to w as F32, in the order given, with the metadata. It is an
// error if two share a name, or if a shape and its data disagree; nothing is written then.
func WriteSafetensors(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	header, err := encodeHeader(tensors, metadata)
	if err != nil {
		return err
	}
	prefix := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	if _, err := w.Write(append(prefix, header...)); err != nil {
		return err
	}
	chunk := make([]byte, 1<<16)
	for _, t := range tensors {
		for rest := t.Data; len(rest) > 0; {
			n := min(len(rest), len(chunk)/4)
			for i, v := range rest[:n] {
				binary.LittleEndian.PutUint32(chunk[4*i:], math.Float32bits(v))
			}
			if _, err := w.Write(chunk[:4*n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// encodeHeader returns the header of a file with these tensors, padded to a multiple of 8 bytes.
func encodeHeader(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	if len(metadata) > 0 {
		text, err := json.Marshal(metadata)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&buf, "%q:%s", metadataKey, text)
	}
	seen := make(map[string]bool, len(tensors))
	offset := 0
	for _, t := range tensors {
		if err := checkTensor(t, seen); err != nil {
			return nil, err
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		if buf.Len() > 1 {
			buf.WriteByte(',')
		}
		end := offset + 4*len(t.Data)
		fmt.Fprintf(&buf, `%s:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, name, shapeText(t.Shape), offset, end)
		offset = end
	}
	buf.WriteByte('}')
	for buf.Len()%8 != 0 {
		buf.WriteByte(' ')
	}
	if buf.Len() > maxHeader {
		return nil, fmt.Errorf("safetensors: a header of %s bytes is longer than the %s that readers accept",
			data.Thousands(buf.Len()), data.Thousands(maxHeader))
	}
	return buf.Bytes(), nil
}

// checkTensor reports a tensor that cannot be written, and adds its name to seen.
func checkTensor(t Tensor, seen map[string]bool) error {
	switch {
	case t.Name == metadataKey || t.Name == "" || !utf8.ValidString(t.Name):
		return fmt.Errorf("safetensors: %q cannot be the name of a tensor", t.Name)
	case seen[t.Name]:
		return fmt.Errorf("safetensors: two tensors are named %q", t.Name)
	}
	seen[t.Name] = true
	n, err := elements(t.Shape)
	if err != nil || n != int64(len(t.Data)) {
		return fmt.Errorf("safetensors: tensor %q has shape %s but %s values", t.Name, shapeText(t.Shape), data.Thousands(len(t.Data)))
	}
	return nil
}

// elements returns the product of a shape's dimensions.
func elements(shape []int) (int64, error) {
	n := uint64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %s has a negative dimension", shapeText(shape))
		}
		high, low := bits.Mul64(n, uint64(d))
		if high != 0 || low > math.MaxInt64 {
			return 0, fmt.Errorf("shape %s has too many elements", shapeText(shape))
		}
		n = low
	}
	return int64(n), nil
}

// shapeText writes a shape as JSON and as people do: [65,128].
func shapeText(shape []int) string {
	text := []byte{'['}
	for i, d := range shape {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(d), 10)
	}
	return string(append(text, ']'))
}

// firstNonFinite returns the index of the first NaN or infinity in data, or -1.
func firstNonFinite(data []float32) int {
	return slices.IndexFunc(data, func(v float32) bool { return v-v != 0 })
}
