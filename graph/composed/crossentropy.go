package composed

import (
	"slices"

	"gorgonia.org/gorgonia"

	"tinylm/internal/node"
)

// CrossEntropySum is the sum of log(sum(exp(logits))) - logits[target] over the targets other than
// [graph.IgnoreIndex], in nats, and their number: logits (N..., V), targets (N...) of type int32, int64 or
// int; both results are scalars of the logits' type. The count has no gradient.
func CrossEntropySum(logits, targets *gorgonia.Node) (loss, count *gorgonia.Node, err error) {
	e := &expr{name: "cross entropy"}
	return e.results(e.crossEntropy(logits, targets))
}

// CrossEntropy is the mean over the counted targets; 0, with gradient 0, when none counts.
func CrossEntropy(logits, targets *gorgonia.Node) (*gorgonia.Node, error) {
	e := &expr{name: "cross entropy"}
	loss, count := e.crossEntropy(logits, targets)
	if e.err != nil {
		return e.result(nil)
	}
	none := e.where(gorgonia.Eq, count, 0)
	return e.result(e.div(loss, e.add(count, none)))
}

func (e *expr) crossEntropy(logits, targets *gorgonia.Node) (loss, count *gorgonia.Node) {
	e.float(logits)
	e.require(logits.Dims() >= 1, "logits are a scalar; want (N..., V)")
	if e.err != nil {
		return nil, nil
	}
	e.require(slices.Equal(node.Leading(logits), targets.Shape()),
		"logits, targets %v, %v; want (N..., V), (N...)", node.Dims(logits), node.Dims(targets))
	if e.err != nil {
		return nil, nil
	}
	hot := e.oneHot(targets, node.Last(logits), logits.Dtype()) // (N..., V), a row of zeros where ignored
	counted := e.rowSum(hot)                                    // (N..., 1), 1 or 0
	s := e.shift(logits)
	lse := e.add(e.log(s.sums), s.max)                                  // (N..., 1)
	target := e.rowSum(e.fill(logits, e.where(gorgonia.Eq, hot, 0), 0)) // (N..., 1), logits[target]
	loss = e.sum(e.mul(e.sub(lse, target), counted))                    // ()
	return loss, e.sum(counted)
}
