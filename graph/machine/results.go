package machine

import (
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/value"
)

// What a plan keeps: the results whose values outlive a run, and where those named by Into lie.

// keepOutputs marks the slots whose values outlive the run, and puts those named by Into in place.
func (p *planner) keepOutputs(nodes gorgonia.Nodes) error {
	keep := map[*gorgonia.Node]bool{}
	for _, n := range p.c.outputs {
		keep[n] = true
	}
	for _, r := range p.plan.reads {
		keep[r.node] = true
	}
	for _, i := range p.c.into {
		keep[i.node] = true
	}
	for _, n := range nodes {
		if !p.need[n] || n.Op() == nil || p.c.pruned && !keep[n] {
			continue
		}
		if len(p.slots[n]) != 1 {
			if keep[n] {
				return fmt.Errorf("%s: a packed node has no value; name its parts", n.Name())
			}
			continue
		}
		if _, ok := n.Op().(interface{ Value() gorgonia.Value }); ok {
			continue // a constant
		}
		s := p.slots[n][0]
		s.root().keep = true
		p.plan.kept = append(p.plan.kept, &kept{node: n, label: p.near[n], slot: s})
	}
	for _, i := range p.c.into {
		if err := p.placeInto(i.node, i.value); err != nil {
			return err
		}
	}
	return nil
}

// placeInto makes v's memory that of the node's result. A result that is a view, a leaf or already
// placed is copied there.
func (p *planner) placeInto(n *gorgonia.Node, v gorgonia.Value) error {
	s := p.slots[n][0]
	ptr, err := p.memoryOf(n, s.spec, v)
	if err != nil {
		return err
	}
	if s.base == nil && s.home == inArena {
		s.home, s.ptr = external, ptr
		return nil
	} // a view, a leaf, or placed already
	own := &slot{spec: s.spec, home: external, ptr: ptr, keep: true}
	p.plan.slots = append(p.plan.slots, own)
	p.plan.steps = append(p.plan.steps, &step{
		node: n, near: p.near[n], kernel: device.Copy{}, in: []*slot{s}, out: []*slot{own},
	})
	for _, k := range p.plan.kept {
		if k.node == n {
			k.slot = own
		}
	}
	return nil
}

// memoryOf returns the memory of v, which must be right for the result of n and nobody else's; nil when there is
// no value.
func (p *planner) memoryOf(n *gorgonia.Node, spec device.Spec, v gorgonia.Value) (unsafe.Pointer, error) {
	if v == nil {
		return nil, nil
	}
	b, err := value.BufferOf(v)
	if err != nil || b.Ptr != value.Pointer(v) {
		return nil, fmt.Errorf("result of %s: want contiguous memory of a known type", n.Name())
	}
	if other := p.owner(b); other != "" {
		return nil, fmt.Errorf("the memory for the result of %s is in use by %s", n.Name(), other)
	}
	if b.DType != spec.DType || !slices.Equal(b.Shape, spec.Shape) {
		return nil, fmt.Errorf("result of %s is %v, the memory for it %v", n.Name(), spec, b.Spec)
	}
	return b.Ptr, nil
}

// owner names whose memory b overlaps: an earlier result placed by Into, or the present value of an input.
func (p *planner) owner(b device.Buffer) string {
	overlaps := func(ptr unsafe.Pointer, bytes int) bool {
		from, other := uintptr(b.Ptr), uintptr(ptr)
		return ptr != nil && from < other+uintptr(bytes) && other < from+uintptr(b.Bytes())
	}
	for _, l := range p.plan.leaves {
		if v := l.node.Value(); v != nil && overlaps(value.Pointer(v), l.slot.spec.Bytes()) {
			return l.node.Name()
		}
	}
	for _, s := range p.plan.slots {
		if s.home == external && overlaps(s.ptr, s.spec.Bytes()) {
			return "another result"
		}
	}
	return ""
}
