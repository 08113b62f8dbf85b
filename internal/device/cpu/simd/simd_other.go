//go:build !amd64 && !arm64

package simd

func sets() []*Set { return nil }
