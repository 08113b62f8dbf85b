package architecture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Another module uses the library by require and replace: its go.mod repeats what ours requires, and the
// example builds and trains there.
func TestAnotherModuleUsesTheLibrary(t *testing.T) {
	for _, file := range sources(t) { // so that the cache of test results knows what the build below reads
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copyFile(t, filepath.Join(root, "go.sum"), filepath.Join(dir, "go.sum"), nil)
	copyFile(t, filepath.Join(root, "examples/customgraph/main.go"), filepath.Join(dir, "main.go"), nil)
	copyFile(t, filepath.Join(root, "go.mod"), filepath.Join(dir, "go.mod"), func(mod string) string {
		return strings.Replace(mod, "module tinylm", "module outside", 1) +
			"\nrequire tinylm v0.0.0\n\nreplace tinylm => " + root + "\n"
	})
	cmd := exec.Command("go", "run", "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var losses [3]float64
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if _, err := fmt.Sscanf(line, "step %d loss %f", new(int), &losses[i]); err != nil {
			t.Fatalf("the example printed %q", out)
		}
	}
	if !(losses[0] > losses[1] && losses[1] > losses[2] && losses[2] > 0) {
		t.Errorf("gradient descent gave the losses %v; want them to fall", losses)
	}
}

func copyFile(t *testing.T, from, to string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	if change != nil {
		s = change(s)
	}
	if err := os.WriteFile(to, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
}
