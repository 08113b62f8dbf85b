// Package architecture holds the test of the project's structure: who may import whom.
package architecture

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms names every package and what of ours it may import: docs/architecture.md.
var rooms = map[string][]string{
	"data":                       {},
	"data/tales":                 {},
	"data/tales/generate":        {"data/tales"},
	"internal/device":            {},
	"internal/device/cpu":        {"internal/device"},
	"internal/device/devicetest": {"internal/device"},
	"internal/value":             {"internal/device"},
	"graph":                      {"internal/device", "internal/device/cpu", "internal/value"},
	"graph/machine":              {"internal/device", "internal/device/cpu", "internal/value"},
	"graph/composed":             {"graph", "graph/machine", "internal/device"},
	"graph/gradcheck":            {"graph", "graph/machine", "internal/device", "internal/value"},
	"layers":                     {"graph", "graph/composed", "graph/machine"},
	"train/metrics":              {},
	"train/checkpoint":           {"data", "layers"},
	"train/generate":             {"data", "graph/machine", "layers", "internal/device", "train/checkpoint"},
	"train":                      {"data", "graph", "graph/machine", "layers", "internal/device", "train/checkpoint", "train/generate", "train/metrics"},
	"internal/peers/opticks":     {"data", "layers", "train", "train/checkpoint"},
	"internal/checks":            {"graph", "graph/composed", "graph/gradcheck", "layers"},
	"internal/architecture":      {},
}

// withoutGorgonia lists the packages that do not name Gorgonia themselves.
var withoutGorgonia = []string{"data", "data/tales", "data/tales/generate", "cmd/train-tiny",
	"train/checkpoint", "train/metrics", "internal/device", "internal/device/cpu"}

type pkg struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "tinylm/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

func TestImportDirections(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "tinylm/")
		allowed, known := rooms[name]
		free := strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "examples/")
		if !known && !free {
			t.Errorf("package %s is in no room: add it to the table and to docs/architecture.md", name)
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "gorgonia.org/") && slices.Contains(withoutGorgonia, name) {
				t.Errorf("%s imports %s; it must not know Gorgonia", name, i)
			}
			ours, ok := strings.CutPrefix(i, "tinylm/")
			if ok && !free && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s; it may import %v", name, ours, allowed)
			}
		}
	}
}
