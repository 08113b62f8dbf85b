package checkpoint

import (
	"encoding/binary"
	"io"
	"math"
)

// ReadSafetensors reads all tensors of a safetensors file of size bytes from r, in the order of
// their data, with the metadata. Types F64, F32, F16 and BF16 are converted to F; a tensor of
// another type is an error. Whatever is wrong with the file is a *FormatError that names file.
func ReadSafetensors[F float32 | float64](r io.Reader, size int64, file string) ([]TensorOf[F], map[string]string, error) {
	return readTensors[F](r, size, file, func(string) bool { return true })
}

// ReadSafetensorsFile is ReadSafetensors of the file at path.
func ReadSafetensorsFile[F float32 | float64](path string) ([]TensorOf[F], map[string]string, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return ReadSafetensors[F](f, size, path)
}

// readTensors is ReadSafetensors for the tensors whose name want accepts.
func readTensors[F float32 | float64](r io.Reader, size int64, file string, want func(name string) bool) ([]TensorOf[F], map[string]string, error) {
	h, err := ReadHeader(r, size, file)
	if err != nil {
		return nil, nil, err
	}
	var tensors []TensorOf[F]
	for _, info := range h.Tensors {
		if !want(info.Name) {
			if _, err := io.CopyN(io.Discard, r, info.End-info.Begin); err != nil {
				return nil, nil, readError(file, err)
			}
			continue
		}
		if decoderOf[F](info.DType) == nil {
			return nil, nil, formatError(file, "tensor %q has the type %s, want F64, F32, F16 or BF16", info.Name, info.DType)
		}
		data, err := readValues[F](r, info)
		if err != nil {
			return nil, nil, readError(file, err)
		}
		tensors = append(tensors, TensorOf[F]{Name: info.Name, Shape: info.Shape, Data: data})
	}
	return tensors, h.Metadata, nil
}

// readValues reads the data of one tensor, whose size ReadHeader has checked against the file's.
func readValues[F float32 | float64](r io.Reader, info TensorInfo) ([]F, error) {
	width := dtypeSize[info.DType]
	decode := decoderOf[F](info.DType)
	data := make([]F, (info.End-info.Begin)/width)
	chunk := make([]byte, min(info.End-info.Begin, 1<<16))
	for rest := data; len(rest) > 0; {
		n := min(len(rest), len(chunk)/int(width))
		bytes := chunk[:n*int(width)]
		if _, err := io.ReadFull(r, bytes); err != nil {
			return nil, err
		}
		for i := range n {
			rest[i] = decode(bytes[i*int(width):])
		}
		rest = rest[n:]
	}
	return data, nil
}

// decoderOf returns the function that reads one value of a type, or nil if the type is no float.
func decoderOf[F float32 | float64](dtype string) func([]byte) F {
	switch dtype {
	case "F64":
		return func(b []byte) F { return F(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	case "F32":
		return func(b []byte) F { return F(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	case "F16":
		return func(b []byte) F { return F(fromHalf(binary.LittleEndian.Uint16(b))) }
	case "BF16":
		return func(b []byte) F { return F(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)) }
	}
	return nil
}

// fromHalf returns the value of an IEEE 754 half: sign, 5 bits of exponent, 10 of fraction.
func fromHalf(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent, fraction := uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	case 0: // zero, subnormal: fraction * 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
