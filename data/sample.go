package data

import (
	_ "embed"
	"encoding/json"
)

//go:generate go run ./tales/generate -dir sample

//go:embed sample/tales.txt
var sampleText []byte

//go:embed sample/tales.json
var sampleEntropy []byte

// SampleText is the text that is trained on when none is given, and its entropy.
type SampleText struct {
	Text
	Entropy
}

// Entropy is what the generator of a text states of it: the bits per byte that no model can beat
// (see package tales).
type Entropy struct {
	BitsPerByte           float64 `json:"bits_per_byte"`            // of the whole text
	ValidationBitsPerByte float64 `json:"validation_bits_per_byte"` // of the part that Split keeps by default
}

// Sample returns the built-in text. The caller must not change its bytes.
func Sample() SampleText {
	s := SampleText{Text: NewText("tales", sampleText)}
	if err := json.Unmarshal(sampleEntropy, &s.Entropy); err != nil {
		panic("data: the embedded sample/tales.json is damaged: " + err.Error()) // a test reads it
	}
	return s
}
