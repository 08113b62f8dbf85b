package simd

// Scores is the kernels of attention's scores.
type Scores struct{}
