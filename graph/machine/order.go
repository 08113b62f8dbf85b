package machine

import "slices"

// advance moves every step whose results lie outside the arena, such as the gradient of a weight, up to where
// its inputs are there: what it reads is then free sooner, and it takes no memory itself. All others stay in
// the order in which the graph was written.
func (p *planner) advance() {
	p.link()
	for _, s := range p.plan.steps { // makers come first, so theirs are final
		if s.stays() {
			continue
		}
		s.at = -1
		for _, b := range s.in {
			if m := b.root().maker; m != nil {
				s.at = max(s.at, m.at)
			}
		}
	}
	slices.SortStableFunc(p.plan.steps, func(a, b *step) int { return a.at - b.at })
}

// stays tells whether a step takes memory of the arena.
func (s *step) stays() bool {
	return slices.ContainsFunc(s.out, func(b *slot) bool { return b.home == inArena && !b.unwanted })
}
