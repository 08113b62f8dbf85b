package machine

import (
	"slices"

	"tinylm/internal/device"
)

// fuseSlope joins the gradient that comes back through a product and the gradient of the activation before
// the product: dy·wᵀ, then times the slope at the activation's input.
func (p *planner) fuseSlope(grad *step, k device.ActivationGrad) bool {
	if !passing(grad, 0) {
		return false
	}
	linear := grad.in[0].maker
	l, ok := linear.kernel.(device.Linear)
	if !ok || l.Slope != 0 {
		return false
	}
	l.Slope = k.Kind
	grad.become(linear, l, append(slices.Clone(linear.in), grad.in[1]))
	return true
}

// fuseSum joins a gradient and the addition of another one to it: around a layer norm goes the gradient of the
// residual connection, and a weight that is used twice, as the token embedding that is also the output matrix, has
// the sum of two. The sum is formed where the gradient is, since others may read its further results before the
// addition; so the other one must be there by then. Of two gradients of one weight that makes the later one add to
// the earlier, which needs no memory of its own.
func (p *planner) fuseSum(add *step) bool {
	return sameShape(add) && eitherOperand(add, func(i int) bool {
		grad, base := add.in[i].maker, add.in[1-i]
		k := adding(grad.kernel)
		if k == nil || add.in[i] != grad.out[0] || !madeBefore(base, grad) {
			return false
		}
		grad.rewrite(k, append([]*slot{base}, grad.in...))
		if len(grad.out) == 1 {
			grad.near = add.near // the weight
		}
		grad.out[0] = add.out[0]
		grad.out[0].maker = grad
		add.fuseAway()
		return true
	})
}

// adding returns a gradient's kernel that adds to what there is, nil for a kernel that cannot.
func adding(k device.Kernel) device.Kernel {
	switch k := k.(type) {
	case device.LayerNormGrad:
		if !k.Add {
			k.Add = true
			return k
		}
	case device.LinearWeightGrad:
		if !k.Add {
			k.Add = true
			return k
		}
	case device.EmbeddingGrad:
		if !k.Add {
			k.Add = true
			return k
		}
	}
	return nil
}

// fuseLoss joins a cross entropy and its gradient, at the place of the former. The gradient of the loss must
// be known by then; it is the constant 1 when the loss is what the graph is differentiated for.
func (p *planner) fuseLoss(grad *step, k device.CrossEntropyGrad) bool {
	logits, targets, lse, count, dloss := grad.in[0], grad.in[1], grad.in[2], grad.in[3], grad.in[4]
	loss := lse.maker
	if loss == nil || !passing(grad, 2) || !madeBefore(dloss, loss) {
		return false
	}
	l, ok := loss.kernel.(device.CrossEntropy)
	if !ok || l != device.CrossEntropy(k) || count != loss.out[1] ||
		loss.in[0].root() != logits.root() || loss.in[1].root() != targets.root() {
		return false
	}
	loss.rewrite(device.CrossEntropyBoth(k), []*slot{logits, targets, dloss})
	loss.out = []*slot{grad.out[0], loss.out[0], loss.out[1]}
	grad.out[0].maker = loss
	grad.fuseAway()
	return true
}
