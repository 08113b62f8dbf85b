package graph

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/node"
)

// DrawOption changes what DOT draws.
type DrawOption func(*drawing)

// DrawGradients also draws the nodes that gorgonia.Grad added, in a frame of their own, with a dashed edge
// from each gradient to its input.
func DrawGradients() DrawOption { return func(d *drawing) { d.gradients = true } }

// DrawParameters names the inputs to be drawn as parameters. Without it these are the inputs that
// gorgonia.Grad found a gradient for.
func DrawParameters(nodes ...*gorgonia.Node) DrawOption {
	return func(d *drawing) {
		d.parameters = map[*gorgonia.Node]bool{}
		for _, n := range nodes {
			d.parameters[n] = true
		}
	}
}

// DOT draws a graph in Graphviz's language, from inputs at the top to results at the bottom: operators
// rounded, inputs in blue boxes, parameters in yellow ones, each with its shape. An operator with several
// results is one node; an edge says which result it carries when it is not the first (0).
func DOT(w io.Writer, g *gorgonia.ExprGraph, opts ...DrawOption) error {
	d := &drawing{w: bufio.NewWriter(w), nodes: g.AllNodes()}
	for _, o := range opts {
		o(d)
	}
	d.findForward()
	d.printf("digraph tinylm {\n")
	d.printf("  rankdir=TB; nodesep=0.3; ranksep=0.35;\n")
	d.printf("  node [fontname=\"Helvetica\" fontsize=11]; edge [fontname=\"Helvetica\" fontsize=9 color=gray40];\n")
	begun := false
	for _, n := range d.nodes {
		if !d.drawn(n) {
			continue
		}
		if n.ID() > d.lastForward && !begun {
			begun = true
			d.printf("  subgraph cluster_gradient {\n  label=\"gradient\"; style=dashed; color=gray60;\n")
		}
		d.node(n)
	}
	if begun {
		d.printf("  }\n")
	}
	for _, n := range d.nodes {
		if d.drawn(n) {
			d.edges(n)
		}
		if d.gradients && n.Op() == nil && n.Deriv() != nil {
			from, _ := d.source(n.Deriv())
			d.printf("  n%d -> n%d [style=dashed constraint=false];\n", from.ID(), n.ID())
		}
	}
	d.printf("}\n")
	return d.w.Flush()
}

// drawing writes one graph; the writer keeps the first error.
type drawing struct {
	w           *bufio.Writer
	nodes       gorgonia.Nodes // in the order in which they were made
	gradients   bool
	parameters  map[*gorgonia.Node]bool
	lastForward int64 // ID of the loss, after which gorgonia.Grad made its nodes
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

// findForward finds where the gradient begins: after the last node that has a gradient and is none. A
// graph without gradients is forward as a whole.
func (d *drawing) findForward() {
	d.nodes = slices.Clone(d.nodes)
	slices.SortFunc(d.nodes, func(a, b *gorgonia.Node) int { return int(a.ID() - b.ID()) })
	gradients := map[*gorgonia.Node]bool{}
	for _, n := range d.nodes {
		if n.Deriv() != nil {
			gradients[n.Deriv()] = true
		}
	}
	for _, n := range d.nodes {
		if len(gradients) == 0 || n.Deriv() != nil && !gradients[n] {
			d.lastForward = n.ID()
		}
	}
}

// drawn tells whether a node is drawn as one of its own: parts are edges, and what gradients wrap is not
// shown.
func (d *drawing) drawn(n *gorgonia.Node) bool {
	switch n.Op().(type) {
	case *partOp, *wrapOp:
		return false
	}
	return d.gradients || n.ID() <= d.lastForward
}

func (d *drawing) node(n *gorgonia.Node) {
	name, style := operatorName(n), "shape=box style=rounded"
	switch {
	case n.Op() == nil && d.isParameter(n):
		name, style = n.Name(), "shape=box style=filled fillcolor=lightyellow"
	case n.Op() == nil:
		name, style = n.Name(), "shape=box style=filled fillcolor=lightblue"
	case len(node.Inputs(n)) == 0:
		name, style = strings.TrimPrefix(name, "const "), "shape=plaintext"
	}
	label := fmt.Sprintf("%s\n%s", name, resultShape(n))
	d.printf("  n%d [label=%s %s];\n", n.ID(), quote(label), style)
}

func (d *drawing) isParameter(n *gorgonia.Node) bool {
	if d.parameters != nil {
		return d.parameters[n]
	}
	return n.Deriv() != nil
}

// edges draws the edges into n.
func (d *drawing) edges(n *gorgonia.Node) {
	for _, in := range node.Inputs(n) {
		from, result := d.source(in)
		if result > 0 {
			d.printf("  n%d -> n%d [label=\"result %d\"];\n", from.ID(), n.ID(), result)
			continue
		}
		d.printf("  n%d -> n%d;\n", from.ID(), n.ID())
	}
}

// source returns the drawn node that a value comes from, past parts and what gradients wrap, and which
// of its results it is.
func (d *drawing) source(n *gorgonia.Node) (from *gorgonia.Node, result int) {
	for !d.drawn(n) {
		if p, ok := n.Op().(*partOp); ok {
			result = p.i
		}
		n = node.Inputs(n)[0]
	}
	return n, result
}

// operatorName is the kernel's name, or what Gorgonia calls its own operators.
func operatorName(n *gorgonia.Node) string {
	switch o := n.Op().(type) {
	case nil:
		return n.Name()
	case device.Operator:
		return kernelName(o.Kernel())
	default:
		return strings.TrimSuffix(o.String(), " false")
	}
}

// kernelName is the kernel's name, or a more telling one.
func kernelName(k device.Kernel) string {
	functions := map[device.ActivationKind]string{device.ReLU: "relu", device.GELUTanh: "gelu", device.GELUExact: "exact gelu"}
	switch k := k.(type) {
	case device.Copy:
		return "reshape"
	case device.Activation:
		return functions[k.Kind]
	case device.ActivationGrad:
		return functions[k.Kind] + ".grad"
	case device.Attention:
		if k.Causal {
			return "causal attention"
		}
	}
	return k.Name()
}

// resultShape is the shape of the first result and its type: "(2, 5, 8) float32".
func resultShape(n *gorgonia.Node) string {
	shape := []int(n.Shape())
	if o, ok := n.Op().(device.Operator); ok {
		shape = o.Outputs()[0].Shape
	}
	s := make([]string, len(shape))
	for i, d := range shape {
		s[i] = fmt.Sprint(d)
	}
	return fmt.Sprintf("(%s) %v", strings.Join(s, ", "), n.Dtype())
}

// quote makes a string of Graphviz's language, in which a line break is \n.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
