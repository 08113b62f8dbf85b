package tales

// The sample text that is trained on when no file is given.
const (
	sampleSeed = 1
	sampleSize = 300_000 // bytes, at least
)

// Entropy is what the generator states of a text: the floor that no model can beat.
type Entropy struct {
	Seed        uint64  `json:"seed"`
	Bytes       int     `json:"bytes"`
	BitsPerByte float64 `json:"bits_per_byte"` // of the whole text

	ValidationBytes       int     `json:"validation_bytes"`         // the last tenth
	ValidationBitsPerByte float64 `json:"validation_bits_per_byte"` // of it, given what stands before
}

// Sample writes the sample text and states its entropy.
func Sample() ([]byte, Entropy) {
	t := Write(sampleSeed, sampleSize)
	n := len(t.Text)
	validation := n / 10
	return t.Text, Entropy{
		Seed:                  sampleSeed,
		Bytes:                 n,
		BitsPerByte:           t.Bits(0) / float64(n),
		ValidationBytes:       validation,
		ValidationBitsPerByte: t.Bits(n-validation) / float64(validation),
	}
}
