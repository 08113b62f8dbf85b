package checks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// Every check can be made and passes, and looks at every input.
func TestAll(t *testing.T) {
	names := map[string]bool{}
	for _, c := range All() {
		if names[c.Name] {
			t.Errorf("two checks are named %s", c.Name)
		}
		names[c.Name] = true
		r, err := c.Run()
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if len(r.Tensors) == 0 {
			t.Errorf("%s checks nothing", c.Name)
		}
		if err := r.Err(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// Every exported function of graph and graph/composed that makes a differentiable node is in the table.
func TestEveryOperatorIsListed(t *testing.T) {
	table, err := os.ReadFile("operators.go")
	if err != nil {
		t.Fatal(err)
	}
	notDifferentiable := map[string]bool{"CachedAttention": true, "KeepMask": true, "NewRNG": true, "OneHot": true, "RowMax": true}
	found := 0
	for name, dir := range map[string]string{"graph": "../../graph", "composed": "../../graph/composed"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv != nil || !f.Name.IsExported() || notDifferentiable[f.Name.Name] || !returnsNode(f) {
					continue
				}
				found++
				if !strings.Contains(string(table), name+"."+f.Name.Name) {
					t.Errorf("%s.%s has no gradient check", name, f.Name.Name)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("%d operators found in the source; want at least 30", found)
	}
}

// returnsNode tells whether the first result is *gorgonia.Node or gorgonia.Nodes.
func returnsNode(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) == 0 {
		return false
	}
	typ := f.Type.Results.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	s, ok := typ.(*ast.SelectorExpr)
	return ok && strings.HasPrefix(s.Sel.Name, "Node")
}
