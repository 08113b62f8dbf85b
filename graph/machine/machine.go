// Package machine runs finished Gorgonia graphs: it plans once (order, lifetimes, memory) and then runs
// every node by a prepared kernel, so that a steady step allocates nothing. It takes the place of
// gorgonia.NewTapeMachine.
//
// It knows operators only by the interface of internal/device: an operator that offers a kernel runs on
// the machine's device, any other Gorgonia operator by its own Do. See plan.go for the plan, stock.go for
// Gorgonia's operators, and arena.go for the memory.
package machine

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu"
	"tinylm/internal/value"
)

// Machine is a gorgonia.VM. After RunAll the kept nodes' Value is their result, in memory of the machine
// that the next run overwrites. Parameters and inputs are read where they lie: change their elements,
// or bind another value with gorgonia.Let, between runs. A Machine is not for concurrent use; several
// machines may run graphs with shared parameters at once as long as none writes them.
type Machine struct {
	dev   device.Device
	plan  *plan // nil once closed
	arena unsafe.Pointer
	bytes int64 // of the arena
	mu    sync.Mutex
}

var _ gorgonia.VM = (*Machine)(nil)

type config struct {
	dev     device.Device
	outputs gorgonia.Nodes
	pruned  bool
	into    []placement
	shares  *Machine
}

// placement is a node whose result goes into the memory of a value.
type placement struct {
	node  *gorgonia.Node
	value gorgonia.Value
}

// DefaultDevice is what machines run on unless told otherwise: the shared CPU device.
func DefaultDevice() device.Device { return cpu.Default() }

// Option changes how a machine is made.
type Option func(*config)

// Outputs names the nodes whose values are kept; the machine computes what they need and nothing else,
// and reuses the memory of every other node. Without it every node is computed and kept. Nodes that
// are read with gorgonia.Read are kept as well.
func Outputs(nodes ...*gorgonia.Node) Option {
	return func(c *config) { c.outputs, c.pruned = append(c.outputs, nodes...), true }
}

// Into computes a node into the memory of v, which has its type and shape: gradients into one flat array.
// A node may go to several places: parameters that are added up share one gradient node. The memory must
// not be that of another result, an input or a parameter. With a nil value the memory is not known yet, which is
// enough to describe the plan.
func Into(n *gorgonia.Node, v gorgonia.Value) Option {
	return func(c *config) { c.into = append(c.into, placement{n, v}) }
}

// On runs the kernels on a device other than the shared CPU device.
func On(d device.Device) Option {
	return func(c *config) { c.dev = d }
}

// Sharing lets the machine put its results into the memory of another machine on the same device, if that is
// enough for them. The two must not run at the same time, and a run of one overwrites the results of the other:
// training and evaluation in turn.
func Sharing(other *Machine) Option {
	return func(c *config) { c.shares = other }
}

// New plans g, which must not change afterwards, and takes the memory that the plan needs.
func New(g *gorgonia.ExprGraph, opts ...Option) (*Machine, error) {
	c := newConfig(opts)
	for _, i := range c.into {
		if i.value == nil {
			return nil, fmt.Errorf("machine: there is no memory for the result of %s", i.node.Name())
		}
	}
	p, err := newPlan(g, c)
	if err != nil {
		return nil, fmt.Errorf("machine: %w", err)
	}
	m := &Machine{dev: c.dev, plan: p, bytes: int64(p.arenaBytes)}
	if m.arena, err = c.arena(p.arenaBytes); err != nil {
		return nil, fmt.Errorf("machine: %w", err)
	}
	if err := m.bind(); err != nil {
		return nil, fmt.Errorf("machine: %w", err)
	}
	return m, nil
}

// arena returns memory for so many bytes of results.
func (c *config) arena(bytes int) (unsafe.Pointer, error) {
	if o := c.shares; o != nil && o.dev == c.dev && o.arena != nil && o.bytes >= int64(bytes) {
		return o.arena, nil
	}
	return c.dev.Alloc(bytes)
}

// Bytes returns the memory that a machine for g would hold, see [Machine.Bytes], without taking it.
func Bytes(g *gorgonia.ExprGraph, opts ...Option) (int64, error) {
	p, err := newPlan(g, newConfig(opts))
	if err != nil {
		return 0, fmt.Errorf("machine: %w", err)
	}
	return int64(p.arenaBytes), nil
}

func newConfig(opts []Option) *config {
	c := &config{}
	for _, o := range opts {
		o(c)
	}
	if c.dev == nil {
		c.dev = DefaultDevice()
	}
	return c
}

// bind gives every slot its memory and prepares the kernels. Leaves that have no value yet are bound by
// the first run that finds one.
func (m *Machine) bind() error {
	for _, s := range m.plan.slots {
		if s.home == inArena {
			s.ptr = unsafe.Add(m.arena, s.offset)
		}
	}
	for _, l := range m.plan.leaves {
		if l.node.Value() != nil {
			if err := l.refresh(); err != nil {
				return err
			}
		}
	}
	for _, s := range m.plan.steps {
		if s.bound() {
			if err := s.prepare(m.dev); err != nil {
				return err
			}
		}
	}
	for _, k := range m.plan.kept {
		k.value = nil
		if k.slot.root().ptr != nil {
			k.value = value.View(k.slot.buffer(), k.node.Dtype())
		}
	}
	return nil
}

// RunAll computes the graph once. It allocates nothing unless an input was bound to another value since
// the last run, or the graph holds operators of Gorgonia's own.
func (m *Machine) RunAll() error { return m.runAll(nil) }

// RunTimed is RunAll, and sets took[i] to the time of step i of [Machine.Plan]; took has one element a step.
func (m *Machine) RunTimed(took []time.Duration) error { return m.runAll(took) }

func (m *Machine) runAll(took []time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plan == nil {
		return errClosed
	}
	if n := len(m.plan.steps); took != nil && len(took) != n {
		return fmt.Errorf("machine: %d times for %d steps", len(took), n)
	}
	if err := m.refresh(); err != nil {
		return err
	}
	for i := range m.plan.steps {
		var began time.Time
		if took != nil {
			began = time.Now()
		}
		if err := m.run(i); err != nil {
			return err
		}
		if took != nil {
			took[i] = time.Since(began)
		}
	}
	return m.publish()
}

// refresh looks whether leaves moved since the last run and prepares what reads them again.
func (m *Machine) refresh() error {
	for _, l := range m.plan.leaves {
		v := l.node.Value()
		if v == nil {
			return fmt.Errorf("machine: %s has no value; bind one with gorgonia.Let", l.node.Name())
		}
		if v == l.value && !l.strided {
			continue
		}
		if err := l.refresh(); err != nil {
			return err
		}
		for _, s := range l.slot.readers {
			if s.bound() {
				if err := s.prepare(m.dev); err != nil {
					return err
				}
			}
		}
		for _, k := range m.plan.kept {
			if k.slot.root() == l.slot {
				k.value = value.View(k.slot.buffer(), k.node.Dtype())
			}
		}
	}
	return nil
}

func (m *Machine) run(i int) (err error) {
	s := m.plan.steps[i]
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("machine: %s: %v", s.label(), p)
		}
	}()
	if err := s.launch(); err != nil {
		return fmt.Errorf("machine: %s: %w", s.label(), err)
	}
	return nil
}

// publish binds the results to their nodes, for node.Value, gorgonia.Read and param.Grad.
func (m *Machine) publish() error {
	for _, k := range m.plan.kept {
		if k.node.Value() != k.value {
			if err := gorgonia.UnsafeLet(k.node, k.value); err != nil {
				return fmt.Errorf("machine: %s: %w", k.label, err)
			}
		}
	}
	for _, r := range m.plan.reads {
		*r.into = r.node.Value()
	}
	return nil
}

// Reset is part of gorgonia.VM; a run needs none before it.
func (m *Machine) Reset() {}

// Close lets go of the machine's memory.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plan, m.arena = nil, nil
	return nil
}

var errClosed = errors.New("machine: it is closed")

// Bytes returns the memory that the machine takes for results, its own or shared, without inputs, parameters
// and results placed by Into.
func (m *Machine) Bytes() int64 { return m.bytes }
