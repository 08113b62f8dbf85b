package data

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// count returns the tokens 0..n-1.
func count(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(i)
	}
	return tokens
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		n                    int
		fraction             float64
		block                int
		training, validation int
	}{
		{312_480, DefaultValidation, 128, 281_232, 31_248},
		{650, DefaultValidation, 64, 585, 65},
		{659, DefaultValidation, 64, 594, 65},
		{33, 0, 32, 33, 0},
		{8, 0, 4, 8, 0},
		{10, 0.5, 4, 5, 5},
		{100, 0.9, 9, 10, 90},
	} {
		training, validation, err := Split(count(test.n), test.fraction, test.block)
		if err != nil {
			t.Errorf("%d tokens, %v, block %d: %v", test.n, test.fraction, test.block, err)
			continue
		}
		if len(training) != test.training || len(validation) != test.validation {
			t.Errorf("%d tokens, %v: got %d and %d", test.n, test.fraction, len(training), len(validation))
		}
		for i, token := range append(append([]int32(nil), training...), validation...) {
			if int(token) != i {
				t.Fatalf("%d tokens: token %d at %d", test.n, token, i)
			}
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, test := range []struct {
		n        int
		fraction float64
		block    int
		want     string
	}{
		{41, 0, 64, "has 41 tokens, but a window of 64 needs block-size + 1 = 65; use --block-size 40 or less"},
		{41, 0.1, 64, "has 41 tokens, but a window of 64 needs block-size + 1 = 65; use --block-size 3 or less"},
		{10, 0, 32, "has 10 tokens, but a window of 32 needs block-size + 1 = 33; use --block-size 9 or less"},
		{32, 0, 32, "has 32 tokens, but a window of 32 needs block-size + 1 = 33; use --block-size 31 or less"},
		{649, 0.1, 64, "has a validation part of 64 tokens (of 649), but a window of 64 needs block-size + 1 = 65; use --block-size 63 or less"},
		{33, 0.1, 32, "has a validation part of 3 tokens (of 33), but a window of 32 needs block-size + 1 = 33; use --block-size 2 or less"},
		{1_500, 0.9, 256, "has a training part of 150 tokens (of 1,500), but a window of 256 needs block-size + 1 = 257; use --block-size 149 or less"},
		{9, 0.1, 4, "has a validation part of 0 tokens (of 9), but a window of 4 needs block-size + 1 = 5; use a longer text"},
		{1, 0, 4, "has 1 token, but a window of 4 needs block-size + 1 = 5; use a longer text"},
		{9, 0, math.MaxInt, "has 9 tokens, but a window of 9223372036854775807 needs block-size + 1 = 9223372036854775808; use --block-size 8 or less"},
	} {
		_, _, err := Split(count(test.n), test.fraction, test.block)
		var typed *ShortError
		if !errors.As(err, &typed) || err.Error() != test.want {
			t.Errorf("%d tokens, %v, block %d:\n got %v\nwant %v", test.n, test.fraction, test.block, err, test.want)
		}
	}
	for _, fraction := range []float64{-0.1, 1, 0.95, 1e-300, math.NaN(), math.Inf(1)} {
		if _, _, err := Split(count(100), fraction, 4); err == nil {
			t.Errorf("fraction %v was taken", fraction)
		}
	}
	if _, _, err := Split(count(100), 0, 0); err == nil {
		t.Error("block 0 was taken")
	}
}

// The advice of the error must be good: the largest block it names works, one more does not.
func TestSplitAdvice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 2000).Draw(t, "n")
		fraction := rapid.SampledFrom([]float64{0, 0.05, 0.1, 0.3, 0.5, 0.9}).Draw(t, "fraction")
		_, _, err := Split(count(n), fraction, rapid.IntRange(1, 2500).Draw(t, "block"))
		var short *ShortError
		if !errors.As(err, &short) {
			return
		}
		if short.Largest > 0 {
			if _, _, err := Split(count(n), fraction, short.Largest); err != nil {
				t.Errorf("%v, but: %v", short, err)
			}
		}
		if _, _, err := Split(count(n), fraction, max(short.Largest, 0)+1); err == nil {
			t.Errorf("%v, but %d works", short, short.Largest+1)
		}
	})
}
