package machine

import (
	"slices"

	"tinylm/internal/device"
)

// fuseResidual joins a product and the addition of a residual: y = x·w + bias, then y + r.
func (p *planner) fuseResidual(add *step) bool {
	return sameShape(add) && eitherOperand(add, func(i int) bool {
		linear := add.in[i].maker
		k, ok := linear.kernel.(device.Linear)
		if !ok || k.Residual || k.Slope != 0 {
			return false
		}
		k.Residual = true
		add.become(linear, k, append(slices.Clone(linear.in), add.in[1-i]))
		return true
	})
}

// fuseDropped joins dropout and the addition of a residual to what it left.
func (p *planner) fuseDropped(add *step) bool {
	return sameShape(add) && eitherOperand(add, func(i int) bool {
		dropout := add.in[i].maker
		k, ok := dropout.kernel.(device.Dropout)
		if !ok || k.Residual {
			return false
		}
		k.Residual = true
		add.become(dropout, k, append(slices.Clone(dropout.in), add.in[1-i]))
		return true
	})
}

// eitherOperand tries the operands of an addition that nobody else reads, the second, which is the residual
// branch, first.
func eitherOperand(add *step, fuse func(i int) bool) bool {
	for _, i := range []int{1, 0} {
		if passing(add, i) && fuse(i) {
			return true
		}
	}
	return false
}

// fuseInput lets products apply an activation to their input as they read it, so that its result is never
// stored: the layer's own product, and the gradient of its weight. All readers must be such products.
func (p *planner) fuseInput(act *step, k device.Activation) bool {
	y := act.out[0]
	if y.keep || y.home != inArena || len(y.readers) == 0 {
		return false
	}
	for _, r := range y.readers {
		if i := activatedInput(r); i < 0 || r.in[i] != y || !readsOnce(r, i) {
			return false
		}
	}
	for _, r := range slices.Clone(y.readers) {
		in := slices.Clone(r.in)
		in[activatedInput(r)] = act.in[0]
		switch linear := r.kernel.(type) {
		case device.Linear:
			linear.Input = k.Kind
			r.rewrite(linear, in)
		case device.LinearWeightGrad:
			linear.Input = k.Kind
			r.rewrite(linear, in)
		}
	}
	act.fuseAway()
	return true
}

// activatedInput returns which input of a product can have an activation applied to it, -1 if none can.
func activatedInput(s *step) int {
	switch k := s.kernel.(type) {
	case device.Linear:
		if k.Input == 0 {
			return 0
		}
	case device.LinearWeightGrad:
		if k.Input == 0 && !k.Add {
			return 0
		}
		if k.Input == 0 {
			return 1 // after base
		}
	}
	return -1
}
