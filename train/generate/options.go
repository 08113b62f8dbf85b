package generate

import (
	"fmt"
	"math"
	"slices"
)

// Options say how text is generated. Zero values are not defaults: start from Defaults, or set
// MaxNewTokens and leave the rest zero for the most likely text.
//
// Temperature, TopK and TopP act in this order, as in Hugging Face's transformers. Equal options and an
// equal prompt give an equal text, whatever the number of processors and whatever texts arise beside it.
type Options struct {
	MaxNewTokens int // at least 1; fewer are generated when the text ends before

	// Temperature divides the logits: below 1 the likely tokens become likelier. Below 1e-6, and so by
	// its zero value, the most likely token is always taken, the one with the lowest id among equals.
	Temperature float64

	TopK int     // draw from the TopK likeliest tokens only, lower ids first among equals; 0, or V and more: from all
	TopP float64 // draw from the likeliest tokens that together reach this probability only; 0 or 1: from all

	Seed   int64 // any value
	Sample int   // number of the sample, from 0: those of one seed differ

	Stop []string // the text ends before the first of these that it would contain
}

// Defaults returns the options that the command starts from.
func Defaults() Options {
	return Options{MaxNewTokens: 200, Temperature: 0.8, Seed: 1337}
}

// Validate reports the first option out of range, by the name of its flag.
func (o Options) Validate() error {
	switch {
	case o.MaxNewTokens < 1:
		return fmt.Errorf("--max-new-tokens must be at least 1, got %d", o.MaxNewTokens)
	case math.IsInf(o.Temperature, 1):
		return fmt.Errorf("--temperature must be finite, got %v", o.Temperature)
	case !(o.Temperature >= 0):
		return fmt.Errorf("--temperature must be 0 (the most likely token) or more, got %v", o.Temperature)
	case o.TopK < 0:
		return fmt.Errorf("--top-k must be 0 (off) or more, got %d", o.TopK)
	case !(o.TopP >= 0 && o.TopP <= 1):
		return fmt.Errorf("--top-p must be between 0 and 1 (both: off), got %v", o.TopP)
	case o.Sample < 0:
		return fmt.Errorf("the number of a sample must not be negative, got %d", o.Sample)
	case slices.Contains(o.Stop, ""):
		return fmt.Errorf("--stop must not be empty")
	}
	return nil
}

// greedy tells whether the most likely token is always taken.
func (o Options) greedy() bool { return o.Temperature < 1e-6 }
