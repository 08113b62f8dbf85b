package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxRank is the largest number of dimensions read; no model comes near it.
const maxRank = 8

// dtypeSize gives the bytes of one element of each type a header may name.
var dtypeSize = map[string]int64{
	"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1,
	"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}

// TensorInfo is what a safetensors header says of one tensor.
type TensorInfo struct {
	Name  string
	DType string // F64, F32, F16, BF16, I64, ...
	Shape []int
	Begin int64 // of the tensor's bytes, from the end of the header
	End   int64
}

// Header is the checked header of a safetensors file.
type Header struct {
	Tensors  []TensorInfo // in the order of their data: without hole or overlap, to the end of the file
	Metadata map[string]string
}

// ReadHeader reads the header of a safetensors file of size bytes from r, leaving r at the first
// byte of the data. Whatever is wrong with it is a *FormatError that names file.
func ReadHeader(r io.Reader, size int64, file string) (*Header, error) {
	var length [8]byte
	if size < int64(len(length)) {
		return nil, formatError(file, "%d bytes are too few for a safetensors file", size)
	}
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, readError(file, err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	room := uint64(size - int64(len(length)))
	if n > maxHeader || n > room {
		return nil, formatError(file, "header of %d bytes in a file of %d", n, size)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, readError(file, err)
	}
	h, err := parseHeader(text)
	if err == nil {
		err = h.checkLayout(int64(room - n))
	}
	if err != nil {
		return nil, formatError(file, "safetensors header: %v", err)
	}
	return h, nil
}

// readError turns the end of a file that came too early into a *FormatError.
func readError(file string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return formatError(file, "the file ends too early")
	}
	return fmt.Errorf("%s: %w", file, err)
}

// checkLayout sorts the tensors by their place in the data, and reports the first that does not
// begin where the one before ends, or whose size is not that of its shape.
func (h *Header) checkLayout(dataSize int64) error {
	slices.SortFunc(h.Tensors, func(a, b TensorInfo) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), cmp.Compare(a.Name, b.Name))
	})
	end := int64(0)
	for _, t := range h.Tensors {
		n, err := elements(t.Shape)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		size, ok := dtypeSize[t.DType]
		if !ok {
			return fmt.Errorf("tensor %q: unknown type %q", t.Name, t.DType)
		}
		if n > math.MaxInt64/size || t.End-t.Begin != n*size {
			return fmt.Errorf("tensor %q: bytes %d to %d cannot hold %s of %s", t.Name, t.Begin, t.End, t.DType, shapeText(t.Shape))
		}
		if t.Begin != end {
			return fmt.Errorf("tensor %q begins at byte %d, want %d", t.Name, t.Begin, end)
		}
		end = t.End
	}
	if end != dataSize {
		return fmt.Errorf("tensors take %d bytes, the file has %d", end, dataSize)
	}
	return nil
}

// parseHeader reads the JSON of a header, stricter than encoding/json: no key twice, none unknown.
func parseHeader(text []byte) (*Header, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, errors.New("does not begin with '{'")
	}
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8")
	}
	h := &Header{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err := eachKey(dec, func(name string) (err error) {
		if name == metadataKey {
			h.Metadata, err = parseMetadata(dec)
			return err
		}
		info, err := parseTensor(dec)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		info.Name = name
		h.Tensors = append(h.Tensors, info)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if rest := bytes.Trim(text[dec.InputOffset():], " "); len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes after the JSON that are not spaces", len(rest))
	}
	return h, nil
}

func parseMetadata(dec *json.Decoder) (map[string]string, error) {
	metadata := map[string]string{}
	err := eachKey(dec, func(key string) error {
		value, err := dec.Token()
		if err != nil {
			return err
		}
		s, ok := value.(string)
		if !ok {
			return fmt.Errorf("metadata %q is %v, want a string", key, value)
		}
		metadata[key] = s
		return nil
	})
	return metadata, err
}

// parseTensor reads the object that describes one tensor.
func parseTensor(dec *json.Decoder) (TensorInfo, error) {
	var info TensorInfo
	var offsets []int64
	keys := 0
	err := eachKey(dec, func(key string) error {
		keys++
		switch key {
		case "dtype":
			value, err := dec.Token()
			if err != nil {
				return err
			}
			s, ok := value.(string)
			if !ok {
				return fmt.Errorf("dtype is %v, want a string", value)
			}
			info.DType = s
		case "shape":
			dims, err := parseNumbers(dec, maxRank)
			if err != nil {
				return fmt.Errorf("shape: %w", err)
			}
			info.Shape = make([]int, len(dims))
			for i, d := range dims {
				if d > math.MaxInt {
					return fmt.Errorf("shape: %d is too large", d)
				}
				info.Shape[i] = int(d)
			}
		case "data_offsets":
			var err error
			if offsets, err = parseNumbers(dec, 2); err != nil {
				return fmt.Errorf("data_offsets: %w", err)
			}
		default:
			return fmt.Errorf("unknown key %q", key)
		}
		return nil
	})
	switch {
	case err != nil:
		return info, err
	case keys != 3:
		return info, errors.New("want dtype, shape and data_offsets")
	case len(offsets) != 2 || offsets[0] > offsets[1]:
		return info, fmt.Errorf("data_offsets %v are not a begin and an end", offsets)
	}
	info.Begin, info.End = offsets[0], offsets[1]
	return info, nil
}

// parseNumbers reads an array of at most limit whole numbers >= 0.
func parseNumbers(dec *json.Decoder, limit int) ([]int64, error) {
	if err := expect(dec, '['); err != nil {
		return nil, err
	}
	var numbers []int64
	for dec.More() {
		value, err := dec.Token()
		if err != nil {
			return nil, err
		}
		number, ok := value.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%v is not a number", value)
		}
		n, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s is not a whole number from 0 to 2^63-1", number)
		}
		if len(numbers) == limit {
			return nil, fmt.Errorf("more than %d numbers", limit)
		}
		numbers = append(numbers, n)
	}
	return numbers, expect(dec, ']')
}

// eachKey reads an object, calling value for each key with the decoder before the key's value.
func eachKey(dec *json.Decoder, value func(key string) error) error {
	if err := expect(dec, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok || seen[key] {
			return fmt.Errorf("key %q occurs twice", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return expect(dec, '}')
}

// expect reads one delimiter.
func expect(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the JSON ends before a '%v'", want)
	}
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("%v where '%v' should be", token, want)
	}
	return nil
}
