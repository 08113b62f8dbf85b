package machine

import "sort"

// lifetimes finds the first and last step of every slot, and lets results that may take the memory of an input
// that nobody reads any more do so.
func (p *planner) lifetimes() {
	for i, s := range p.plan.steps {
		for _, b := range s.in {
			b.root().last = i
		}
		for _, b := range s.out {
			b.first, b.last = i, max(b.last, i)
		}
	}
	for i, s := range p.plan.steps {
		if s.kernel == nil || !s.kernel.InPlace() || !mayShare(s, i) {
			continue
		}
		from, to := s.in[0].root(), s.out[0]
		if to.home == external { // the memory named by Into: what is added to lies there from the start
			from.base = to
			continue
		}
		to.base = from
		from.last, from.keep = to.last, to.keep
	}
}

// mayShare tells whether step i may write its first result over its input 0: nobody reads that later.
func mayShare(s *step, i int) bool {
	from, to := s.in[0].root(), s.out[0]
	if to.unwanted || from.home != inArena || from.keep || from.last != i || from.spec.Bytes() != to.spec.Bytes() {
		return false
	}
	for _, b := range s.in[1:] {
		if b.root() == from {
			return false
		}
	}
	return true
}

// place gives every slot of the arena an offset such that no two that live at the same time overlap, and
// returns the bytes that takes. Larger slots are placed first, each at the lowest offset where it fits
// between those already placed that live with it.
func place(slots []*slot, steps []*step) int {
	var todo []*slot
	for _, s := range slots {
		if s.takesMemory() {
			if s.keep {
				s.last = len(steps)
			}
			todo = append(todo, s)
		}
	}
	sort.SliceStable(todo, func(i, j int) bool { return todo[i].spec.Bytes() > todo[j].spec.Bytes() })
	total := 0
	var placed []*slot // by offset
	for _, s := range todo {
		size, at := roundUp(s.spec.Bytes()), 0
		for _, o := range placed {
			if o.last < s.first || s.last < o.first {
				continue // never alive together
			}
			if o.offset >= at+size {
				break // fits before it
			}
			at = max(at, o.offset+roundUp(o.spec.Bytes()))
		}
		s.offset = at
		total = max(total, at+size)
		i := sort.Search(len(placed), func(i int) bool { return placed[i].offset > at })
		placed = append(placed[:i], append([]*slot{s}, placed[i:]...)...)
	}
	return total
}

// takesMemory tells whether a slot has memory of the arena for itself.
func (s *slot) takesMemory() bool { return s.home == inArena && s.base == nil && !s.unwanted }

// roundUp keeps every slot on a cache line of its own.
func roundUp(bytes int) int { return (bytes + 63) &^ 63 }
