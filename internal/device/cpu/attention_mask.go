package cpu

import (
	"fmt"

	"tinylm/internal/device"
)

// scoreMask is the mask of an attention; without one both slices are nil.
type scoreMask[F float] struct {
	hidden           []bool
	add              []F
	batch, head, row int // distances in elements; 0 along an axis that broadcasts
}

// bindMask checks and binds the mask: (Tq, Tk), or (B or 1, H or 1, Tq, Tk).
func (a *attention[F]) bindMask(k device.Kernel, mask device.Buffer) error {
	want := device.TypeOf[F]()
	if a.Mask == device.BoolMask {
		want = device.Bool
	}
	if err := checkType(k, want, mask); err != nil {
		return err
	}
	s := mask.Shape
	m := scoreMask[F]{row: a.tk}
	switch n := len(s); {
	case n != 2 && n != 4, s[n-2] != a.tq, s[n-1] != a.tk,
		n == 4 && s[0] != 1 && s[0] != a.b, n == 4 && s[1] != 1 && s[1] != a.h:
		return fmt.Errorf("cpu: %s: mask of shape %v does not fit scores of shape %v: want their last two axes, or all four with 1 for any of the first two",
			k.Name(), s, []int{a.b, a.h, a.tq, a.tk})
	case n == 4:
		if s[1] > 1 {
			m.head = a.tq * a.tk
		}
		if s[0] > 1 {
			m.batch = s[1] * a.tq * a.tk
		}
	}
	switch a.Mask {
	case device.BoolMask:
		m.hidden = device.Slice[bool](mask)
	case device.AdditiveMask:
		m.add = device.Slice[F](mask)
	default:
		return fmt.Errorf("cpu: %s: unknown kind of mask %d", k.Name(), a.Mask)
	}
	a.mask = m
	return nil
}

// apply masks a row of scores.
func (m scoreMask[F]) apply(s []F, b, h, i int) {
	at := b*m.batch + h*m.head + i*m.row
	if m.hidden != nil {
		for j, hidden := range m.hidden[at:][:len(s)] {
			if hidden {
				s[j] = device.HiddenScore
			}
		}
	}
	if m.add != nil {
		for j, v := range m.add[at:][:len(s)] {
			s[j] += v
		}
	}
}

// stop clears the gradients of the scores that a bool mask replaced.
func (m scoreMask[F]) stop(ds []F, b, h, i int) {
	if m.hidden == nil {
		return
	}
	for j, hidden := range m.hidden[b*m.batch+h*m.head+i*m.row:][:len(ds)] {
		if hidden {
			ds[j] = 0
		}
	}
}
