package data

import (
	"bytes"
	"testing"

	"tinylm/data/tales"
)

// The committed files are what the generator writes, and its validation part is that of Split.
func TestSampleIsGenerated(t *testing.T) {
	text, entropy := tales.Sample()
	s := Sample()
	if !bytes.Equal(s.Bytes, text) || s.BitsPerByte != entropy.BitsPerByte || s.ValidationBitsPerByte != entropy.ValidationBitsPerByte {
		t.Error("data/sample is not what the generator writes; run go generate ./data")
	}
	_, validation, err := Split(make([]int32, len(text)), DefaultValidation, 128)
	if err != nil || len(validation) != entropy.ValidationBytes {
		t.Errorf("a validation part of %d bytes, the generator counts %d (%v)", len(validation), entropy.ValidationBytes, err)
	}
}

// A model that copies 60 characters is seen to copy: the text itself never says 60 characters twice.
func TestSampleNeverRepeats(t *testing.T) {
	text := string(Sample().Bytes)
	const run = 60
	seen := make(map[string]int, len(text))
	for i := 0; i+run <= len(text); i++ {
		if j, ok := seen[text[i:i+run]]; ok {
			t.Fatalf("%q at %d and at %d", text[i:i+run], j, i)
		}
		seen[text[i:i+run]] = i
	}
}
