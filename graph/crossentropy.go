package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/node"
)

// IgnoreIndex is the target that does not count in a loss, as in PyTorch.
const IgnoreIndex = -100

// CrossEntropySum is the sum of -log softmax(logits)[target] over the targets other than IgnoreIndex,
// in nats, and their number: logits (N..., V), targets (N...) of type int32, int64 or int; both results
// are scalars of the logits' type. The count has no gradient. A target outside 0..V-1 that is not
// IgnoreIndex is an error at run time.
func CrossEntropySum(logits, targets *gorgonia.Node) (loss, count *gorgonia.Node, err error) {
	packed, err := crossEntropy(logits, targets, device.CrossEntropy{IgnoreIndex: IgnoreIndex})
	if err != nil {
		return nil, nil, err
	}
	if loss, err = part(packed, 0); err != nil {
		return nil, nil, err
	}
	count, err = part(packed, 1)
	return loss, count, err
}

// CrossEntropy is the mean over the counted targets; 0, with gradient 0, when none counts.
func CrossEntropy(logits, targets *gorgonia.Node) (*gorgonia.Node, error) {
	return result(crossEntropy(logits, targets, device.CrossEntropy{IgnoreIndex: IgnoreIndex, Mean: true}))
}

func crossEntropy(logits, targets *gorgonia.Node, k device.CrossEntropy) (*gorgonia.Node, error) {
	t, err := float(logits)
	if err == nil {
		err = integer(targets)
	}
	if err != nil {
		return nil, fmt.Errorf("crossentropy: %w", err)
	}
	if logits.Dims() < 1 || !equal(node.Leading(logits), targets.Shape()) {
		return nil, fmt.Errorf("crossentropy: logits, targets %s; want (N..., V), (N...)", shapes(logits, targets))
	}
	scalar := device.Spec{DType: t, Shape: []int{}}
	return apply(rule{
		kernel: k,
		out:    []device.Spec{scalar, scalar, {DType: t, Shape: []int{node.Rows(logits)}}}, // loss, count, lse
		diff:   1,
		grad: func(in gorgonia.Nodes, packed, grad *gorgonia.Node) (gorgonia.Nodes, error) {
			dloss, err := unwrap(grad)
			if err != nil {
				return nil, err
			}
			saved, err := parts(packed, nil)
			if err != nil {
				return nil, err
			}
			dlogits, err := apply(rule{
				kernel: device.CrossEntropyGrad(k),
				out:    []device.Spec{like(in[0])},
			}, in[0], in[1], saved[2], saved[1], dloss)
			return gorgonia.Nodes{dlogits}, err
		},
	}, logits, targets)
}
