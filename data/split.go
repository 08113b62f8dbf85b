package data

import "fmt"

// DefaultValidation is the share of a text that is kept for validation.
const DefaultValidation = 0.1

// The smallest and largest share that Split takes, other than 0.
const (
	leastFraction = 0.0001
	mostFraction  = 0.9
)

// ShortError says that a text, or a part of it, is shorter than one window.
type ShortError struct {
	Part    string // "", "training" or "validation"
	Tokens  int    // tokens there are
	Whole   int    // tokens of the whole text
	Block   int    // inputs of a window; a window needs one token more
	Largest int    // the largest block that would do, or 0
}

func (e *ShortError) Error() string {
	has := several(e.Tokens, "token")
	if e.Part != "" {
		has = fmt.Sprintf("a %s part of %s tokens (of %s)", e.Part, Thousands(e.Tokens), Thousands(e.Whole))
	}
	use := "a longer text"
	if e.Largest > 0 {
		use = fmt.Sprintf("--block-size %d or less", e.Largest)
	}
	return fmt.Sprintf("has %s, but a window of %d needs block-size + 1 = %d; use %s", has, e.Block, uint64(e.Block)+1, use)
}

// Split cuts tokens in two contiguous parts that share their memory: the last floor(fraction*n)
// tokens are for validation, the ones before for training. A fraction of 0 keeps all for training
// (validation is then empty). A part too short for one window of block+1 tokens is a *ShortError.
func Split(tokens []int32, fraction float64, block int) (training, validation []int32, err error) {
	if block < 1 {
		return nil, nil, fmt.Errorf("--block-size must be at least 1, got %d", block)
	}
	if fraction != 0 && !(fraction >= leastFraction && fraction <= mostFraction) {
		return nil, nil, fmt.Errorf("the validation part must be 0, or between %v and %v of the text, got %v",
			leastFraction, mostFraction, fraction)
	}
	n := len(tokens)
	cut := n - validationTokens(n, fraction)
	short := ShortError{Whole: n, Block: block, Largest: cut - 1}
	if fraction > 0 {
		short.Largest = min(cut, n-cut) - 1
	}
	switch {
	case n <= block:
		short.Tokens = n
	case fraction > 0 && n-cut <= block:
		short.Part, short.Tokens = "validation", n-cut
	case cut <= block:
		short.Part, short.Tokens = "training", cut
	default:
		return tokens[:cut:cut], tokens[cut:], nil
	}
	return nil, nil, &short
}

func validationTokens(n int, fraction float64) int { return int(float64(n) * fraction) }
