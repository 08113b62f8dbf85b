// Package architecture holds the test of the project's structure: who may import whom.
package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms names every package and what of ours it may import: docs/architecture.md.
var rooms = map[string][]string{
	"data":                         {},
	"data/tales":                   {},
	"data/tales/generate":          {"data/tales"},
	"internal/device":              {},
	"internal/device/cpu":          {"internal/device", "internal/device/cpu/simd"},
	"internal/device/cpu/simd":     {},
	"internal/device/cpu/simd/gen": {},
	"internal/guard":               {},
	"internal/device/devicetest":   {"internal/device"},
	"internal/node":                {"internal/device"},
	"internal/value":               {"internal/device"},
	"graph":                        {"internal/device", "internal/device/cpu", "internal/node", "internal/value"},
	"graph/machine":                {"internal/device", "internal/device/cpu", "internal/node", "internal/value"},
	"graph/composed":               {"graph", "graph/machine", "internal/device", "internal/node"},
	"graph/gradcheck":              {"graph", "graph/machine", "internal/device", "internal/node", "internal/value"},
	"layers":                       {"graph", "graph/composed", "graph/machine"},
	"train/metrics":                {},
	"train/checkpoint":             {"data", "layers"},
	"train/generate":               {"data", "graph/machine", "layers", "internal/device", "train/checkpoint"},
	"train":                        {"data", "graph", "graph/machine", "layers", "internal/device", "train/checkpoint", "train/generate", "train/metrics"},
	"internal/demo":                {"data", "train/metrics"},
	"internal/peers/opticks":       {"data", "layers", "train", "train/checkpoint"},
	"internal/peers/steps":         {},
	"internal/bench":               {"data", "graph", "graph/composed", "graph/machine", "internal/device", "internal/device/cpu", "internal/device/cpu/simd", "layers", "train", "train/generate"},
	"internal/checks":              {"graph", "graph/composed", "graph/gradcheck", "layers"},
	"internal/architecture":        {},
}

// withoutGorgonia lists the packages that do not name Gorgonia themselves.
var withoutGorgonia = []string{"data", "data/tales", "data/tales/generate", "cmd/train-tiny",
	"train/checkpoint", "train/metrics", "internal/device", "internal/device/cpu"}

type pkg struct {
	name    string // below the module's root
	imports []string
}

// packages reads the imports of every package, tests left out. It opens the files itself: what "go list"
// reads, the cache of test results would not see.
func packages(t *testing.T) []pkg {
	t.Helper()
	imports := map[string][]string{}
	for _, file := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), root+"/")
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			imports[dir] = append(imports[dir], path)
		}
	}
	var all []pkg
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		all = append(all, pkg{name, imports[name]})
	}
	if len(all) < 10 {
		t.Fatalf("found %d packages", len(all))
	}
	return all
}

const root = "../.."

// sources lists the module's Go files, tests left out.
func sources(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestImportDirections(t *testing.T) {
	for _, p := range packages(t) {
		allowed, known := rooms[p.name]
		free := strings.HasPrefix(p.name, "cmd/") || strings.HasPrefix(p.name, "examples/")
		if !known && !free {
			t.Errorf("package %s is in no room: add it to the table and to docs/architecture.md", p.name)
		}
		for _, i := range p.imports {
			if strings.HasPrefix(i, "gorgonia.org/") && slices.Contains(withoutGorgonia, p.name) {
				t.Errorf("%s imports %s; it must not know Gorgonia", p.name, i)
			}
			ours, ok := strings.CutPrefix(i, "tinylm/")
			if ok && !free && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s; it may import %v", p.name, ours, allowed)
			}
		}
	}
}
