//go:build unix

package simd

import (
	"math/rand/v2"
	"testing"

	"tinylm/internal/guard"
)

// What is counted as work is done: every multiply-add adds 1, every float is in a sum.
func TestMultiplyAdds(t *testing.T) {
	for _, s := range Sets() {
		if s.MultiplyAdds == nil {
			continue
		}
		for _, turns := range []int{1, 2, 7, 1000} {
			for _, counts := range [][]float32{guard.After(t, s.Lanes), guard.Before(t, s.Lanes)} {
				s.MultiplyAdds(turns, &counts[0])
				if n := total(counts); n != float64(turns*s.MultiplyAddsTurn) {
					t.Errorf("%s: %v multiply-adds in %d turns, want %d", s.Name, n, turns, turns*s.MultiplyAddsTurn)
				}
			}
		}
	}
}

func TestRead(t *testing.T) {
	for _, s := range Sets() {
		if s.Read == nil {
			continue
		}
		for _, turns := range []int{1, 2, 3, 17} {
			for _, x := range [][]float32{guard.After(t, turns*s.ReadTurn), guard.Before(t, turns*s.ReadTurn)} {
				for i := range x {
					x[i] = float32(rand.IntN(1000)) // whole numbers: float32 adds them up exactly
				}
				sums := guard.Before(t, s.Lanes)
				s.Read(turns, &x[0], &sums[0])
				if got, want := total(sums), total(x); got != want {
					t.Errorf("%s: %d turns add up to %v, want %v", s.Name, turns, got, want)
				}
			}
		}
	}
}

func total(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}
