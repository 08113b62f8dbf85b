package data

import "fmt"

// EvalLimit is the number of tokens that an evaluation during training looks at.
const EvalLimit = 65_536

// EvalWindows walks over a text for evaluation: windows that do not overlap, so that every counted
// target is counted once; always the same ones. Up to limit targets the whole text is walked
// (all but its first token are targets), otherwise evenly spaced windows with limit targets.
type EvalWindows struct {
	tokens       []int32
	block, batch int
	targets      int // counted targets in all
	windows      int
	next         int // window to fill next
}

// NewEvalWindows returns the windows of at most block tokens over tokens, batch of them at a time.
// A limit of 0 means the whole text. Fewer than 2 tokens are an error: nothing is to be predicted.
func NewEvalWindows(tokens []int32, block, batch, limit int) (*EvalWindows, error) {
	switch {
	case block < 1:
		return nil, fmt.Errorf("--block-size must be at least 1, got %d", block)
	case batch < 1:
		return nil, fmt.Errorf("--batch-size must be at least 1, got %d", batch)
	case limit < 0:
		return nil, fmt.Errorf("the number of tokens to evaluate must not be negative, got %d", limit)
	case len(tokens) < 2:
		return nil, fmt.Errorf("has %s, but an evaluation needs 2 or more: one to start from, one to predict", several(len(tokens), "token"))
	}
	targets := len(tokens) - 1
	if limit > 0 {
		targets = min(targets, limit)
	}
	return &EvalWindows{
		tokens: tokens, block: block, batch: batch,
		targets: targets, windows: (targets + block - 1) / block,
	}, nil
}

// Targets returns the number of targets counted in one walk.
func (e *EvalWindows) Targets() int { return e.targets }

// Batches returns the number of batches in one walk.
func (e *EvalWindows) Batches() int { return (e.windows + e.batch - 1) / e.batch }

// Reset starts the walk again.
func (e *EvalWindows) Reset() { e.next = 0 }

// Next fills b, (B, T), with the next windows and reports whether there were any. Where the last
// window or the last batch is not full, inputs are 0 and targets IgnoreIndex. Once b has its
// size, it allocates nothing.
func (e *EvalWindows) Next(b *Batch) bool {
	if e.next >= e.windows {
		return false
	}
	b.resize(e.batch, e.block)
	for i := range e.batch {
		inputs, targets := b.row(i)
		n := 0
		if e.next < e.windows {
			var start int
			start, n = e.window(e.next)
			copy(inputs[:n], e.tokens[start:])
			copy(targets[:n], e.tokens[start+1:])
			e.next++
		}
		for t := n; t < e.block; t++ {
			inputs[t], targets[t] = 0, IgnoreIndex
		}
	}
	return true
}

// window returns where window k starts and how many targets it counts: block, the last one what
// is left. Starts are spaced so that the last window ends with the text; the spacing is at least
// block because the counted targets fit into the text.
func (e *EvalWindows) window(k int) (start, targets int) {
	last := e.targets - (e.windows-1)*e.block
	if e.windows == 1 {
		return 0, last
	}
	targets = e.block
	if k == e.windows-1 {
		targets = last
	}
	return k * (len(e.tokens) - 1 - last) / (e.windows - 1), targets
}
