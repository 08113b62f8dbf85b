package machine

import (
	"math/rand/v2"
	"testing"

	"tinylm/internal/device"
)

// Slots that live at the same time never overlap, and no more memory is taken than without any reuse.
func TestPlaceKeepsLiveSlotsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		n := 1 + r.IntN(40)
		steps := make([]*step, n)
		var slots []*slot
		sum := 0
		for i := range n {
			s := &slot{spec: device.Spec{DType: device.Float64, Shape: []int{r.IntN(100)}}, first: i, last: i + r.IntN(n-i)}
			s.keep = r.IntN(10) == 0
			slots = append(slots, s)
			sum += roundUp(s.spec.Bytes())
		}
		total := place(slots, steps)
		if total > sum {
			t.Fatalf("arena of %d bytes for %d bytes of results", total, sum)
		}
		for i, a := range slots {
			if a.offset < 0 || a.offset+a.spec.Bytes() > total {
				t.Fatalf("slot %d at %d leaves the arena of %d bytes", i, a.offset, total)
			}
			for j, b := range slots[:i] {
				together := a.first <= b.last && b.first <= a.last
				overlap := a.offset < b.offset+b.spec.Bytes() && b.offset < a.offset+a.spec.Bytes()
				if together && overlap {
					t.Fatalf("slots %d and %d live at once and overlap", i, j)
				}
			}
		}
	}
}

// A chain of results, each read by the next only, needs room for two.
func TestPlaceReusesAChain(t *testing.T) {
	var slots []*slot
	for i := range 10 {
		slots = append(slots, &slot{spec: device.Spec{DType: device.Float32, Shape: []int{16}}, first: i, last: i + 1})
	}
	if got := place(slots, make([]*step, 11)); got != 128 {
		t.Errorf("a chain of ten takes %d bytes, want 128", got)
	}
}
