package machine

import (
	"slices"

	"tinylm/internal/device"
)

// Fusion makes one step of several where a kernel does their work in one pass over memory. It never takes
// away a result that is kept, and it only joins steps whose result in between nobody else reads. The
// patterns are in fuse_forward.go and fuse_backward.go.

// fuse joins steps, each pattern wherever it fits.
func (p *planner) fuse() {
	p.link()
	for _, s := range p.plan.steps {
		if s.fused {
			continue
		}
		switch k := s.kernel.(type) {
		case device.Activation:
			p.fuseInput(s, k)
		case device.ActivationGrad:
			p.fuseSlope(s, k)
		case device.CrossEntropyGrad:
			p.fuseLoss(s, k)
		case device.Add:
			_ = p.fuseResidual(s) || p.fuseDropped(s) || p.fuseSum(s)
		}
	}
	p.plan.steps = slices.DeleteFunc(p.plan.steps, func(s *step) bool { return s.fused })
	p.link()
	p.plan.slots = slices.DeleteFunc(p.plan.slots, func(b *slot) bool {
		return b.home == inArena && b.base == nil && b.maker == nil // between steps that are one now
	})
}

// link notes the place of every step, and who makes and who reads each slot. Readers of a view are its
// root's.
func (p *planner) link() {
	for _, b := range p.plan.slots {
		b.maker, b.readers = nil, nil
	}
	for i, s := range p.plan.steps {
		s.at = i
		for _, b := range s.out {
			b.maker = s
		}
		s.subscribe()
	}
}

// subscribe adds the step to the readers of its inputs, once each.
func (s *step) subscribe() {
	for _, b := range s.in {
		if r := b.root(); len(r.readers) == 0 || r.readers[len(r.readers)-1] != s {
			r.readers = append(r.readers, s)
		}
	}
}

// unsubscribe undoes subscribe.
func (s *step) unsubscribe() {
	for _, b := range s.in {
		r := b.root()
		r.readers = slices.DeleteFunc(r.readers, func(o *step) bool { return o == s })
	}
}

// rewrite gives a step another kernel and inputs.
func (s *step) rewrite(k device.Kernel, in []*slot) {
	s.unsubscribe()
	s.kernel, s.in = k, in
	s.subscribe()
}

// become makes s the fused step of itself and other, which disappears: at the place of s, with the kernel and
// inputs given, near what other is near.
func (s *step) become(other *step, k device.Kernel, in []*slot) {
	s.near = other.near
	s.rewrite(k, in)
	other.fuseAway()
}

// fuseAway takes the step out of the plan.
func (s *step) fuseAway() {
	s.unsubscribe()
	s.fused = true
}

// passing tells whether b is a step's result that only goes from there to input i of reader: with the two
// steps in one it needs no memory.
func passing(reader *step, i int) bool {
	b := reader.in[i]
	return b.maker != nil && b.home == inArena && !b.keep && len(b.readers) == 1 && b.readers[0] == reader &&
		readsOnce(reader, i)
}

// readsOnce tells whether input i of a step is none of its other inputs, nor another view of one.
func readsOnce(s *step, i int) bool {
	for j, b := range s.in {
		if j != i && b.root() == s.in[i].root() {
			return false
		}
	}
	return true
}

// madeBefore tells whether b has its value before step s runs.
func madeBefore(b *slot, s *step) bool {
	m := b.root().maker
	return m == nil || m.at < s.at
}

// sameShape tells whether an addition is of equal shapes, and not of a vector to each row.
func sameShape(add *step) bool { return slices.Equal(add.in[0].spec.Shape, add.in[1].spec.Shape) }
