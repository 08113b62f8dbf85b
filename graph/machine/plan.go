package machine

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/internal/device"
	"tinylm/internal/node"
	"tinylm/internal/value"
)

// plan is a graph made ready to run: the steps in order, and where every result lies.
type plan struct {
	nodes      int // of the graph
	steps      []*step
	slots      []*slot
	leaves     []*leaf
	kept       []*kept
	reads      []read
	arenaBytes int
}

// home says whose memory a slot has.
type home uint8

const (
	inArena  home = iota // the machine's own; reused after the last reader
	external             // a leaf's value, a constant, or the memory named by Into
)

// slot is one result. A slot with base is another view of the base's memory: a reshape.
type slot struct {
	spec   device.Spec
	home   home
	base   *slot
	ptr    unsafe.Pointer
	offset int // in the arena

	maker       *step   // nil for a leaf, a constant and a view
	readers     []*step // of this slot or a view of it
	first, last int     // steps that write it and read it last
	keep        bool
	unwanted    bool // a result of a packed operator that nothing reads
}

func (s *slot) root() *slot {
	for s.base != nil {
		s = s.base
	}
	return s
}

func (s *slot) buffer() device.Buffer { return device.Buffer{Spec: s.spec, Ptr: s.root().ptr} }

// step is one kernel launch, or one call of a Gorgonia operator's Do.
type step struct {
	node   *gorgonia.Node
	near   string        // the parameter or input nearest to it
	kernel device.Kernel // nil: stock is called
	stock  gorgonia.Op
	in     []*slot
	out    []*slot
	launch device.Launch

	at    int  // place in the plan
	fused bool // into another step: gone
	again bool // computes once more what an earlier step computed
}

// kind names what the step computes.
func (s *step) kind() string {
	if s.kernel == nil {
		return s.stock.String()
	}
	return s.kernel.Name()
}

// label names the step for errors: "linear at transformer.h.3.attn.c_attn.weight".
func (s *step) label() string {
	if s.near == "" {
		return s.kind()
	}
	return s.kind() + " at " + s.near
}

// bound tells whether all memory of the step is known.
func (s *step) bound() bool {
	for _, b := range s.in {
		if b.root().ptr == nil {
			return false
		}
	}
	return true
}

func (s *step) prepare(d device.Device) (err error) {
	if s.kernel == nil {
		s.launch = stockLaunch(s)
		return nil
	}
	in, out := make([]device.Buffer, len(s.in)), make([]device.Buffer, len(s.out))
	for i, b := range s.in {
		in[i] = b.buffer()
	}
	for i, b := range s.out {
		if out[i] = b.buffer(); b.unwanted {
			out[i].Ptr = nil
		}
	}
	if s.launch, err = d.Prepare(s.kernel, out, in); err != nil {
		return fmt.Errorf("%s: %w", s.label(), err)
	}
	return nil
}

// leaf is an input or parameter: a node whose value the user owns.
type leaf struct {
	node    *gorgonia.Node
	slot    *slot
	value   gorgonia.Value // as bound now
	strided bool           // a view with gaps, copied before every run
}

// refresh points the slot to the memory of the node's present value.
func (l *leaf) refresh() error {
	v := l.node.Value()
	b, err := value.BufferOf(v)
	if err != nil {
		return fmt.Errorf("%s: %w", l.node.Name(), err)
	}
	if !slices.Equal(b.Shape, l.slot.spec.Shape) || b.DType != l.slot.spec.DType {
		return fmt.Errorf("%s: the value is %v, the node %v", l.node.Name(), b.Spec, l.slot.spec)
	}
	l.value, l.slot.ptr = v, b.Ptr
	l.strided = b.Ptr != value.Pointer(v)
	return nil
}

// kept is a node whose value is bound after each run.
type kept struct {
	node  *gorgonia.Node
	label string
	slot  *slot
	value gorgonia.Value
}

// read is a gorgonia.Read of a node into a variable.
type read struct {
	node *gorgonia.Node
	into *gorgonia.Value
}

// planner holds what is needed while a plan is made.
type planner struct {
	*plan
	c     *config
	need  map[*gorgonia.Node]bool
	slots map[*gorgonia.Node][]*slot // a packed node has one for each result
	near  map[*gorgonia.Node]string  // what is nearest to a node, for labels
}

func newPlan(g *gorgonia.ExprGraph, c *config) (*plan, error) {
	if g == nil {
		return nil, errors.New("the graph is nil")
	}
	nodes, err := order(g)
	if err != nil {
		return nil, err
	}
	if err := checkNamed(c, nodes); err != nil {
		return nil, err
	}
	p := &planner{
		plan:  &plan{nodes: len(nodes)},
		c:     c,
		slots: map[*gorgonia.Node][]*slot{},
		near:  map[*gorgonia.Node]string{},
	}
	p.findNeeded(nodes)
	p.nameGradients(nodes)
	for _, n := range nodes {
		if p.need[n] {
			if err := p.add(n); err != nil {
				return nil, err
			}
		}
	}
	if err := p.keepOutputs(nodes); err != nil {
		return nil, err
	}
	p.fuse()
	p.advance()
	p.recompute()
	p.lifetimes()
	p.plan.arenaBytes = place(p.plan.slots, p.plan.steps)
	return p.plan, nil
}

// checkNamed reports a node named by Outputs or Into that is not of the graph.
func checkNamed(c *config, nodes gorgonia.Nodes) error {
	named := slices.Clone(c.outputs)
	for _, p := range c.into {
		named = append(named, p.node)
	}
	for _, n := range named {
		if n == nil {
			return errors.New("a node named as a result is nil")
		}
		if !slices.Contains(nodes, n) {
			return fmt.Errorf("%s, named as a result, is not of this graph", n.Name())
		}
	}
	return nil
}

// order returns the nodes so that every one comes after its inputs. Gorgonia numbers nodes as they are
// made, inputs first, so the numbers are such an order, and the one in which the graph was written.
func order(g *gorgonia.ExprGraph) (gorgonia.Nodes, error) {
	nodes := slices.Clone(g.AllNodes())
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].ID() < nodes[j].ID() })
	for _, n := range nodes {
		for _, c := range node.Inputs(n) {
			if c.ID() >= n.ID() {
				return gorgonia.Nodes{}, fmt.Errorf("%s comes before its input %s", n.Name(), c.Name())
			}
		}
	}
	return nodes, nil
}

// findNeeded marks what is computed: everything, or what the outputs need.
func (p *planner) findNeeded(nodes gorgonia.Nodes) {
	p.need = map[*gorgonia.Node]bool{}
	for _, n := range p.c.outputs {
		p.need[n] = true
	}
	for _, i := range p.c.into {
		p.need[i.node] = true
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		into := readInto(n)
		if into != nil {
			p.plan.reads = append(p.plan.reads, read{node.Inputs(n)[0], into})
		}
		_, virtual := n.Op().(device.Virtual)
		if p.need[n] || into != nil || !p.c.pruned && !virtual {
			p.need[n] = into == nil // a read itself computes nothing
			for _, in := range node.Inputs(n) {
				p.need[in] = true
			}
		}
	}
}

// add plans one node: a leaf, a constant, a view, a part of a packed node, or a step.
func (p *planner) add(n *gorgonia.Node) error {
	spec, err := value.SpecOf(n)
	if err != nil {
		return err
	}
	in := node.Inputs(n)
	if p.near[n] == "" {
		p.near[n] = p.nearest(n, in)
	}
	switch op := n.Op().(type) {
	case nil:
		s := p.newSlot(n, spec, external)
		p.plan.leaves = append(p.plan.leaves, &leaf{node: n, slot: s})
		return nil
	case interface{ Value() gorgonia.Value }: // a constant
		b, err := value.BufferOf(op.Value())
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name(), err)
		}
		p.newSlot(n, spec, external).ptr = b.Ptr
		return nil
	case device.Part:
		p.slots[n] = []*slot{p.slots[in[0]][op.Part()]}
		p.slots[n][0].unwanted = false
		return nil
	case device.Operator:
		if _, ok := op.Kernel().(device.Copy); ok {
			p.newSlot(n, spec, inArena).base = p.slots[in[0]][0]
			return nil
		}
		return p.addStep(n, op.Kernel(), nil, in, op.Outputs())
	}
	return p.addStock(n, in, spec)
}

// nameGradients puts the gradient of a parameter near that parameter.
func (p *planner) nameGradients(nodes gorgonia.Nodes) {
	for _, n := range nodes {
		if d := n.Deriv(); n.Op() == nil && d != nil && p.near[d] == "" {
			p.near[d] = n.Name()
		}
	}
}

// nearest names the parameter or input that a node's data passed last: a weight, or else a further input, before
// what is nearest to the first.
func (p *planner) nearest(n *gorgonia.Node, in gorgonia.Nodes) string {
	if n.Op() == nil {
		return n.Name()
	}
	if len(in) == 0 {
		return "" // a constant
	}
	weights := append(slices.Clone(in[1:]), in[0])
	for _, c := range weights {
		if t := c.Dtype(); c.Op() == nil && (t == tensor.Float32 || t == tensor.Float64) {
			return c.Name()
		}
	}
	for _, c := range in[1:] {
		if c.Op() == nil {
			return c.Name()
		}
	}
	return p.near[in[0]]
}

func (p *planner) newSlot(n *gorgonia.Node, spec device.Spec, h home) *slot {
	s := &slot{spec: spec, home: h}
	p.plan.slots = append(p.plan.slots, s)
	p.slots[n] = append(p.slots[n], s)
	return s
}

// addStep appends a step whose results are new slots; of a packed node, those that no part takes stay
// unwanted.
func (p *planner) addStep(n *gorgonia.Node, k device.Kernel, stock gorgonia.Op, in gorgonia.Nodes, out []device.Spec) error {
	s := &step{node: n, near: p.near[n], kernel: k, stock: stock}
	for _, c := range in {
		if len(p.slots[c]) != 1 {
			return fmt.Errorf("%s reads a packed node; take its parts", s.label())
		}
		s.in = append(s.in, p.slots[c][0])
	}
	for _, spec := range out {
		b := p.newSlot(n, spec, inArena)
		b.unwanted = len(out) > 1
		s.out = append(s.out, b)
	}
	p.plan.steps = append(p.plan.steps, s)
	return nil
}
