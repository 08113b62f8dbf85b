// Package simd holds the CPU's vector kernels: Go assembly for float32, written by the generator in gen
// (make asm), and the choice among them at start.
//
// Kernels take bare pointers and check nothing: callers have checked all sizes. Strides named in bytes
// are in bytes. No kernel reads or writes a byte outside what its arguments span.
package simd

import (
	"fmt"
	"os"
	"strings"
)

// Set is the kernels of one instruction set. The kernels of two sets, and plain Go, agree up to rounding.
type Set struct {
	Name     string // as in TINYLM_CPU: "avx512", "avx2", "neon"
	Products        // products.go
	Elements        // elements.go
	Scores          // scores.go
	Peaks           // peaks.go
}

// Generic is the name of plain Go, which has no Set.
const Generic = "generic"

// Sets returns the sets that this machine can run, the fastest first.
func Sets() []*Set { return sets() }

// Find returns the set of a name, nil for [Generic] and, when the name is empty, the fastest there is.
func Find(name string) (*Set, error) {
	all := Sets()
	names := []string{}
	for _, s := range all {
		if s.Name == name || name == "" {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if name == Generic || name == "" {
		return nil, nil
	}
	return nil, fmt.Errorf("TINYLM_CPU=%s: this machine has %s", name, strings.Join(append(names, Generic), ", "))
}

// FromEnv is Find of the environment variable TINYLM_CPU.
func FromEnv() (*Set, error) { return Find(os.Getenv("TINYLM_CPU")) }
