package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// batchSize is a number of windows, or autoBatch until it is known what fits.
type batchSize int

// autoBatch is the value of --batch-size auto.
const autoBatch batchSize = math.MinInt

func (b batchSize) String() string {
	if b == autoBatch {
		return "auto"
	}
	return strconv.Itoa(int(b))
}

// UnmarshalText reads a number or "auto".
func (b *batchSize) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*b = autoBatch
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return fmt.Errorf("must be a whole number or auto, got %q", text)
	}
	*b = batchSize(n)
	return nil
}

// MarshalJSON writes a number or "auto".
func (b batchSize) MarshalJSON() ([]byte, error) {
	if b == autoBatch {
		return json.Marshal(b.String())
	}
	return json.Marshal(int(b))
}
