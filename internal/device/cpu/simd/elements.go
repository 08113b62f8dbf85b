package simd

// Elements is the kernels that work element by element or row by row.
type Elements struct{}
