package machine

import (
	"fmt"
	"math"
	"strings"

	"tinylm/internal/device"
)

// FirstNonFinite runs the graph once more, looking at every result, and describes the first node that
// gives NaN or an infinity with the ranges of its inputs: "attention at transformer.h.3.attn.c_attn.bias:
// inputs -3.1e38..2.0e38". It returns "" when there is none. -Inf that a mask brings in is no fault.
func (m *Machine) FirstNonFinite() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plan == nil {
		return "", errClosed
	}
	if err := m.refresh(); err != nil {
		return "", err
	}
	for _, l := range m.plan.leaves {
		if _, _, finite := limits(l.slot.buffer()); !finite {
			return fmt.Sprintf("the input %s itself is not finite", l.node.Name()), nil
		}
	}
	for i, s := range m.plan.steps {
		var ranges []string // before the step: it may overwrite its input
		_, masked := s.kernel.(device.Fill)
		for _, b := range s.in {
			if lo, hi, _ := limits(b.buffer()); lo <= hi {
				ranges = append(ranges, fmt.Sprintf("%.3g..%.3g", lo, hi))
				masked = masked || math.IsInf(lo, -1)
			}
		}
		if err := m.run(i); err != nil {
			return "", err
		}
		for _, b := range s.out {
			if b.unwanted {
				continue
			}
			if lo, _, finite := limits(b.buffer()); !finite || math.IsInf(lo, -1) && !masked {
				return fmt.Sprintf("%s: inputs %s", s.label(), strings.Join(ranges, ", ")), nil
			}
		}
	}
	return "", m.publish()
}

// limits returns the least and greatest element, and whether none is NaN or +Inf, which it leaves out;
// lo > hi when there are no others.
func limits(b device.Buffer) (lo, hi float64, finite bool) {
	lo, hi, finite = math.Inf(1), math.Inf(-1), true
	each := func(x float64) {
		if math.IsNaN(x) || math.IsInf(x, 1) {
			finite = false
			return
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	switch b.DType {
	case device.Float32:
		for _, x := range device.Slice[float32](b) {
			each(float64(x))
		}
	case device.Float64:
		for _, x := range device.Slice[float64](b) {
			each(x)
		}
	}
	return lo, hi, finite
}
