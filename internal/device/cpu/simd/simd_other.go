//go:build !amd64

package simd

func sets() []*Set { return nil }
