//go:build !amd64

package simd

// Pause lets the processor wait a moment, for loops that watch a variable; here it does nothing.
func Pause() {}
