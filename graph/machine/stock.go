package machine

import (
	"fmt"
	"reflect"
	"unsafe"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/node"
	"tinylm/internal/value"
)

// Gorgonia's own operators: a few run by our kernels, some are refused because they compute something
// wrong (docs/decisions.md), the others run by their Do on the CPU.

// refused names the operators whose values or gradients are wrong, and what to use.
var refused = map[string]string{
	"*gorgonia.dropoutOp":     "its gradient divides by p instead of 1-p; use graph.Dropout",
	"*gorgonia.dropoutDiffOp": "its gradient divides by p instead of 1-p; use graph.Dropout",
}

// addStock plans a node of Gorgonia's own.
func (p *planner) addStock(n *gorgonia.Node, in gorgonia.Nodes, spec device.Spec) error {
	op := n.Op()
	kind, text := fmt.Sprintf("%T", op), op.String()
	if why, ok := refused[kind]; ok {
		return fmt.Errorf("%s: %s is refused: %s", n.Name(), text, why)
	}
	switch {
	case p.c.dev.Name() != "cpu":
		return fmt.Errorf("%s: %s runs on the CPU only, this machine on %s", n.Name(), text, p.c.dev.Name())
	case kind == "gorgonia.elemUnaryOp" && text == "invSqrt":
		return fmt.Errorf("%s: InverseSqrt is refused: its gradient is wrong; use Sqrt and HadamardDiv", n.Name())
	case kind == "*gorgonia.byIndicesOp" && reflect.ValueOf(op).Elem().FieldByName("axis").Int() == 1:
		return fmt.Errorf("%s: ByIndices on axis 1 is refused: its gradient is wrong; use graph.Embedding", n.Name())
	case kind == "gorgonia.reshapeOp" || kind == "*gorgonia.reshapeOp":
		p.newSlot(n, spec, inArena).base = p.slots[in[0]][0]
		return nil
	case isPlainAdd(n, in, spec):
		return p.addStep(n, device.Add{}, nil, in, []device.Spec{spec})
	}
	if log, ok := stockSoftmax("Softmax", text, len(spec.Shape)); ok {
		return p.addStep(n, device.Softmax{Log: log}, nil, in, []device.Spec{spec})
	}
	if log, ok := stockSoftmax("SoftmaxDiff", text, len(spec.Shape)); ok { // of x, y, dy
		return p.addStep(n, device.SoftmaxGrad{Log: log}, nil, gorgonia.Nodes{in[2], in[1]}, []device.Spec{spec})
	}
	return p.addStep(n, nil, op, in, []device.Spec{spec})
}

// isPlainAdd recognises elementwise addition of equal shapes, with which gorgonia.Grad sums gradients.
func isPlainAdd(n *gorgonia.Node, in gorgonia.Nodes, spec device.Spec) bool {
	return n.Op().String() == "+ false" && len(in) == 2 &&
		in[0].Shape().Eq(n.Shape()) && in[1].Shape().Eq(n.Shape()) &&
		(spec.DType == device.Float32 || spec.DType == device.Float64)
}

// stockSoftmax recognises Gorgonia's softmax over the last axis, which it computes wrong for values that
// differ by more than 88; ours is right.
func stockSoftmax(kind, text string, dims int) (log, ok bool) {
	var axis int
	if n, _ := fmt.Sscanf(text, kind+"{%d, %t}()", &axis, &log); n != 2 {
		return false, false
	}
	return log, axis == -1 || axis == dims-1
}

// readInto returns the variable that a gorgonia.Read node fills, nil for any other node.
func readInto(n *gorgonia.Node) *gorgonia.Value {
	if n.Op() == nil || fmt.Sprintf("%T", n.Op()) != "gorgonia.readOp" {
		return nil
	}
	return (*gorgonia.Value)(reflect.ValueOf(n.Op()).FieldByName("into").UnsafePointer())
}

// stockLaunch calls a Gorgonia operator on views of the inputs and copies its result to the step's own
// memory, so that nothing aliases anything.
func stockLaunch(s *step) device.Launch {
	ins := node.Inputs(s.node)
	return func() error {
		in := make([]gorgonia.Value, len(s.in))
		for i, b := range s.in {
			in[i] = value.View(b.buffer(), ins[i].Dtype()) // a fresh header: some operators change it
		}
		v, err := s.stock.Do(in...)
		if err != nil {
			return err
		}
		got, err := value.BufferOf(v)
		if err != nil {
			return err
		}
		out := s.out[0].buffer()
		if got.DType != out.DType || got.Len() != out.Len() {
			return fmt.Errorf("result is %v; want %v", got.Spec, out.Spec)
		}
		copy(unsafe.Slice((*byte)(out.Ptr), out.Bytes()), unsafe.Slice((*byte)(got.Ptr), out.Bytes()))
		return nil
	}
}
