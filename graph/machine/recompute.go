package machine

import "tinylm/internal/device"

// A result that can be computed again within a pass over memory is not kept from the forward to the backward
// part when it is of at least recomputeBytes: smaller ones stay in the caches.
const (
	recomputeBytes = 1 << 20
	recomputeGap   = 8 // steps in which nobody reads it
)

// recompute computes cheap results a second time, just before they are read again after a long time: large outputs
// of layer norms, activations and dropout. What they are computed from must still be there.
func (p *planner) recompute() {
	p.link()
	before := map[*step]*step{} // what to insert before a step
	for _, s := range p.plan.steps {
		if !p.cheap(s) {
			continue
		}
		y := s.out[0]
		last := s
		for i, r := range y.readers {
			if r.at-last.at > recomputeGap && before[r] == nil && readsSlot(y.readers[i:], y) && s.inputsLive(r) {
				before[r] = p.repeat(s, y.readers[i:])
				y.readers = y.readers[:i]
				break
			}
			last = r
		}
	}
	var steps []*step
	for _, s := range p.plan.steps {
		if again := before[s]; again != nil {
			steps = append(steps, again)
		}
		steps = append(steps, s)
	}
	p.plan.steps = steps
}

// cheap tells whether a step reads and writes its data once, and has a large result of its own.
func (p *planner) cheap(s *step) bool {
	switch s.kernel.(type) {
	case device.LayerNorm, device.Activation, device.Dropout:
		y := s.out[0]
		return y.home == inArena && !y.keep && !y.unwanted && y.spec.Bytes() >= recomputeBytes
	}
	return false
}

// readsSlot tells whether steps read b itself and no other view of it.
func readsSlot(steps []*step, b *slot) bool {
	for _, s := range steps {
		for _, in := range s.in {
			if in != b && in.root() == b {
				return false
			}
		}
	}
	return true
}

// inputsLive tells whether the inputs of s are in memory at a later step in any case.
func (s *step) inputsLive(later *step) bool {
	for _, b := range s.in {
		r := b.root()
		if r.home == inArena && !r.keep && (len(r.readers) == 0 || r.readers[len(r.readers)-1].at < later.at) {
			return false
		}
	}
	return true
}

// repeat returns a step that computes the first result of s again, for the readers given.
func (p *planner) repeat(s *step, readers []*step) *step {
	again := &step{node: s.node, near: s.near, kernel: s.kernel, in: s.in, again: true}
	for i, b := range s.out {
		copied := &slot{spec: b.spec, unwanted: i > 0}
		p.plan.slots = append(p.plan.slots, copied)
		again.out = append(again.out, copied)
	}
	for _, r := range readers {
		for i, b := range r.in {
			if b == s.out[0] {
				r.in[i] = again.out[0]
			}
		}
	}
	return again
}
