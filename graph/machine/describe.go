package machine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
)

// Plan describes how a machine runs a graph.
type Plan struct {
	Nodes   int    // of the graph
	Steps   []Step // in the order in which they run
	Buffers int    // results that lie in the arena, those that share memory counting once
	Arena   int64  // bytes that the machine holds for them
	Peak    int64  // bytes of those that are needed at once, at the step that needs most
}

// Step describes one launch of a kernel, or one call of a Gorgonia operator.
type Step struct {
	Kernel  string // its kind and what is set of its attributes: "linear bias residual"
	Node    string // the parameter or input that is nearest to it in the graph; may be empty
	Again   bool   // it computes a second time what was not worth keeping
	Shape   []int  // of its first result
	Written int64  // bytes of all its results
	Read    int64  // bytes of its inputs, each once
	Offset  int64  // of its first result in the arena, -1 when it lies elsewhere
	InPlace bool   // its first result lies on its first input
	FLOPs   int64  // of its matrix products, a multiplication and an addition counting as two
}

// Kind is the name of the step's kernel, without attributes.
func (s Step) Kind() string {
	kind, _, _ := strings.Cut(s.Kernel, " ")
	return kind
}

// FLOPs returns the floating-point operations of all matrix products of a run.
func (p Plan) FLOPs() int64 {
	var n int64
	for _, s := range p.Steps {
		n += s.FLOPs
	}
	return n
}

// Describe returns the plan that a machine for g would have, without taking memory for it.
func Describe(g *gorgonia.ExprGraph, opts ...Option) (Plan, error) {
	p, err := newPlan(g, newConfig(opts))
	if err != nil {
		return Plan{}, fmt.Errorf("machine: %w", err)
	}
	return p.describe(), nil
}

// Plan describes how the machine runs its graph. That of a closed machine is empty.
func (m *Machine) Plan() Plan {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plan == nil {
		return Plan{}
	}
	return m.plan.describe()
}

func (p *plan) describe() Plan {
	d := Plan{Nodes: p.nodes, Arena: int64(p.arenaBytes)}
	for _, s := range p.slots {
		if s.takesMemory() {
			d.Buffers++
		}
	}
	for _, live := range p.live() {
		d.Peak = max(d.Peak, int64(live))
	}
	for _, s := range p.steps {
		d.Steps = append(d.Steps, s.describe())
	}
	return d
}

// live returns the bytes of the arena that each step needs: its own results, and those that are read later.
func (p *plan) live() []int {
	change := make([]int, len(p.steps)+1)
	for _, s := range p.slots {
		if s.takesMemory() {
			change[s.first] += roundUp(s.spec.Bytes())
			change[min(s.last+1, len(p.steps))] -= roundUp(s.spec.Bytes())
		}
	}
	for i := 1; i < len(change); i++ {
		change[i] += change[i-1]
	}
	return change[:len(p.steps)]
}

func (s *step) describe() Step {
	d := Step{Kernel: s.kind(), Node: s.near, Again: s.again, Offset: -1}
	in, out := make([]device.Spec, len(s.in)), make([]device.Spec, len(s.out))
	for i, b := range s.in {
		in[i] = b.spec
		if !slices.Contains(s.in[:i], b) {
			d.Read += int64(b.spec.Bytes())
		}
	}
	for i, b := range s.out {
		out[i] = b.spec
		if b.unwanted {
			continue
		}
		d.Written += int64(b.spec.Bytes())
		if d.Shape == nil {
			d.Shape = b.spec.Shape
			if r := b.root(); r.home == inArena {
				d.Offset = int64(r.offset)
			}
		}
	}
	if len(s.in) > 0 && len(s.out) > 0 {
		d.InPlace = s.in[0].root() == s.out[0].root()
	}
	if s.kernel != nil {
		d.Kernel += attributes(s.kernel)
		d.FLOPs = flops(s.kernel, out, in)
	}
	return d
}

var (
	activations = map[device.ActivationKind]string{device.ReLU: "relu", device.GELUTanh: "gelu_tanh", device.GELUExact: "gelu_exact"}
	masks       = map[device.MaskKind]string{device.BoolMask: "bool", device.AdditiveMask: "additive"}
)

// attributes lists what is set of a kernel's attributes, each after a space: " bias input=gelu_tanh".
func attributes(k device.Kernel) string {
	var text strings.Builder
	v := reflect.ValueOf(k)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		name := strings.ToLower(v.Type().Field(i).Name)
		switch x := v.Field(i).Interface().(type) {
		case bool:
			fmt.Fprintf(&text, " %s", name)
		case device.ActivationKind:
			fmt.Fprintf(&text, " %s=%s", name, activations[x])
		case device.MaskKind:
			fmt.Fprintf(&text, " %s=%s", name, masks[x])
		case []int:
			fmt.Fprintf(&text, " %s=%s", name, strings.ReplaceAll(strings.Trim(fmt.Sprint(x), "[]"), " ", ","))
		default:
			fmt.Fprintf(&text, " %s=%v", name, x)
		}
	}
	return text.String()
}
