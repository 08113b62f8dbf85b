package simd

// Peaks is loops that measure what the machine can do at best.
type Peaks struct {
	// MultiplyAdds makes MultiplyAddsTurn multiply-adds in each of turns, which is at least 1, that do not
	// wait for each other, and sets Lanes counts to their number: exactly, up to 300,000 turns.
	MultiplyAdds     func(turns int, counts *float32)
	MultiplyAddsTurn int

	// Read sets Lanes sums to parts of the sum of turns times ReadTurn floats, turns being at least 1.
	Read     func(turns int, p, sums *float32)
	ReadTurn int

	Lanes int // of a register
}
