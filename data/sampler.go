package data

import "fmt"

// Sampler draws training windows. A pass visits every start 0..n-T-1 of the n tokens once, shuffled;
// the next pass is shuffled otherwise. A batch that a pass cannot fill goes on into the next one, so
// that one window is enough for any batch size. (A pass reads every token about T times: it is not
// what a run reports as an epoch.)
type Sampler struct {
	tokens       []int32
	block, batch int
	state        SamplerState
	order        permutation
}

// SamplerState is where a Sampler stands. It is all that must be kept to go on exactly.
type SamplerState struct {
	Seed     int64 `json:"seed"`
	Windows  int64 `json:"windows"`  // windows in a pass
	Pass     int64 `json:"pass"`     // passes completed
	Position int64 `json:"position"` // windows drawn in this pass, less than Windows
}

// NewSampler returns a sampler of batches of batch windows, block tokens each, over tokens. Any
// seed is valid. Fewer than block+1 tokens are a *ShortError.
func NewSampler(tokens []int32, block, batch int, seed int64) (*Sampler, error) {
	if block < 1 {
		return nil, fmt.Errorf("--block-size must be at least 1, got %d", block)
	}
	if batch < 1 {
		return nil, fmt.Errorf("--batch-size must be at least 1, got %d", batch)
	}
	n := len(tokens)
	if n <= block {
		return nil, &ShortError{Tokens: n, Whole: n, Block: block, Largest: n - 1}
	}
	s := &Sampler{tokens: tokens, block: block, batch: batch}
	s.state = SamplerState{Seed: seed, Windows: int64(n - block)}
	s.shuffle()
	return s, nil
}

// Next fills b, (B, T), with the next batch. Once b has its size, it allocates nothing.
func (s *Sampler) Next(b *Batch) {
	b.resize(s.batch, s.block)
	for i := range s.batch {
		start := s.order.at(int(s.state.Position))
		inputs, targets := b.row(i)
		copy(inputs, s.tokens[start:])
		copy(targets, s.tokens[start+1:])
		s.advance()
	}
}

func (s *Sampler) advance() {
	s.state.Position++
	if s.state.Position == s.state.Windows {
		s.state.Pass, s.state.Position = s.state.Pass+1, 0
		s.shuffle()
	}
}

func (s *Sampler) shuffle() {
	s.order = newPermutation(int(s.state.Windows), s.state.Seed, s.state.Pass)
}

// State returns where the sampler stands.
func (s *Sampler) State() SamplerState { return s.state }

// Restore moves the sampler to state, seed included. A state of other data, or one that cannot be,
// is an error and changes nothing.
func (s *Sampler) Restore(state SamplerState) error {
	if state.Windows != s.state.Windows {
		return fmt.Errorf("the saved data position is of %s windows, this text has %s; resume with the same text, tokenizer and --block-size",
			Thousands(int(state.Windows)), Thousands(int(s.state.Windows)))
	}
	if state.Pass < 0 || state.Position < 0 || state.Position >= state.Windows {
		return fmt.Errorf("the saved data position (pass %d, window %d of %d) cannot be",
			state.Pass, state.Position, state.Windows)
	}
	s.state = state
	s.shuffle()
	return nil
}
