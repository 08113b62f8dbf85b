package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/awalterschulze/gographviz"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
)

// draw parses what DOT writes with a parser of Graphviz's language.
func draw(t *testing.T, g *gorgonia.ExprGraph, opts ...graph.DrawOption) *gographviz.Graph {
	t.Helper()
	var s strings.Builder
	if err := graph.DOT(&s, g, opts...); err != nil {
		t.Fatal(err)
	}
	parsed, err := gographviz.Read([]byte(s.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, s.String())
	}
	return parsed
}

// named returns the nodes of a drawing by the first line of their labels.
func named(g *gographviz.Graph) map[string]*gographviz.Node {
	nodes := map[string]*gographviz.Node{}
	for _, n := range g.Nodes.Nodes {
		label, _, _ := strings.Cut(strings.Trim(n.Attrs["label"], `"`), `\n`)
		nodes[label] = n
	}
	return nodes
}

// small is loss = cross entropy of layernorm(x)·w, with a quote in a name.
func small(t *testing.T) (g *gorgonia.ExprGraph, loss *node, params gorgonia.Nodes) {
	g = gorgonia.NewGraph()
	x := leaf(g, "x", tensor.Float32, []int{2, 4}, make([]float64, 8))
	w := leaf(g, `w "1"`, tensor.Float32, []int{4, 5}, make([]float64, 20))
	gain, bias := leaf(g, "gain", tensor.Float32, []int{4}, make([]float64, 4)), leaf(g, "bias", tensor.Float32, []int{4}, make([]float64, 4))
	n := must(t)
	y := n(graph.Linear(n(graph.LayerNorm(x, gain, bias, 1e-5)), w, nil))
	loss = n(graph.CrossEntropy(y, leaf(g, "targets", tensor.Int32, []int{2}, []float64{0, 1})))
	return g, loss, gorgonia.Nodes{w, gain, bias}
}

func TestDOT(t *testing.T) {
	g, loss, params := small(t)
	d := draw(t, g, graph.DrawParameters(params...))
	nodes := named(d)
	for label, color := range map[string]string{
		"x": "lightblue", "targets": "lightblue", `w \"1\"`: "lightyellow", "gain": "lightyellow", "bias": "lightyellow",
		"layernorm": "", "linear": "", "crossentropy": "",
	} {
		n, ok := nodes[label]
		if !ok {
			t.Fatalf("no node is called %s, among %d", label, len(nodes))
		}
		if n.Attrs["fillcolor"] != color {
			t.Errorf("%s is drawn in %q, want %q", label, n.Attrs["fillcolor"], color)
		}
	}
	if len(nodes) != 8 || len(d.Nodes.Nodes) != 8 {
		t.Errorf("%d nodes are drawn, want 8: parts of operators are none of their own", len(d.Nodes.Nodes))
	}
	if got := nodes["linear"].Attrs["label"]; got != `"linear\n(2, 5) float32"` {
		t.Errorf("the label of linear is %s", got)
	}
	for _, e := range [][2]string{{"x", "layernorm"}, {"layernorm", "linear"}, {"linear", "crossentropy"}, {"targets", "crossentropy"}} {
		if len(d.Edges.SrcToDsts[nodes[e[0]].Name][nodes[e[1]].Name]) != 1 {
			t.Errorf("no edge from %s to %s", e[0], e[1])
		}
	}
	if len(d.Edges.Edges) != 7 {
		t.Errorf("%d edges are drawn, want 7", len(d.Edges.Edges))
	}

	// With gradients, but not asked for: the same drawing. Parameters are then known.
	if _, err := gorgonia.Grad(loss, params...); err != nil {
		t.Fatal(err)
	}
	if again := draw(t, g); again.String() != d.String() {
		t.Errorf("drawn again after gorgonia.Grad:\n%s\nbefore:\n%s", again, d)
	}
}

func TestDOTGradients(t *testing.T) {
	g, loss, params := small(t)
	if _, err := gorgonia.Grad(loss, params...); err != nil {
		t.Fatal(err)
	}
	d := draw(t, g, graph.DrawGradients())
	nodes := named(d)
	inside := d.Relations.ParentToChildren["cluster_gradient"]
	for _, label := range []string{"crossentropy.grad", "linear.wgrad", "layernorm.grad"} {
		n, ok := nodes[label]
		if !ok {
			t.Fatalf("no node is called %s", label)
		}
		if !inside[n.Name] {
			t.Errorf("%s is drawn outside the gradient's frame", label)
		}
	}
	if inside[nodes["layernorm"].Name] {
		t.Error("layernorm is drawn inside the gradient's frame")
	}
	// The statistics that layernorm keeps reach its gradient as results 1 and 2.
	kept := ""
	for _, e := range d.Edges.SrcToDsts[nodes["layernorm"].Name][nodes["layernorm.grad"].Name] {
		kept += e.Attrs["label"]
	}
	if kept != `"result 1""result 2"` {
		t.Errorf("edges from layernorm to its gradient: %s", kept)
	}
	for label, from := range map[string]string{`w \"1\"`: "linear.wgrad", "gain": "layernorm.grad", "bias": "layernorm.grad"} {
		edges := d.Edges.SrcToDsts[nodes[from].Name][nodes[label].Name]
		if len(edges) != 1 || edges[0].Attrs["style"] != "dashed" {
			t.Errorf("edges from %s to %s: %v, want a dashed one", from, label, edges)
		}
	}
}

// TestDOTOfEveryOperator draws all cases with and without gradients: every edge joins two drawn nodes.
func TestDOTOfEveryOperator(t *testing.T) {
	each(t, func(t *testing.T, c opCase, f form) {
		nodes, _ := outputs(t, c, f, tensor.Float32)
		for _, opts := range [][]graph.DrawOption{nil, {graph.DrawGradients()}} {
			d := draw(t, nodes[0].Graph(), opts...)
			for _, e := range d.Edges.Edges {
				if d.Nodes.Lookup[e.Src].Attrs["label"] == "" || d.Nodes.Lookup[e.Dst].Attrs["label"] == "" {
					t.Errorf("the edge from %s to %s joins a node that is not drawn", e.Src, e.Dst)
				}
			}
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestDOTReportsWriteErrors(t *testing.T) {
	g, _, _ := small(t)
	if err := graph.DOT(fullDisk{}, g); fmt.Sprint(err) != "disk full" {
		t.Errorf("error %v, want disk full", err)
	}
}
