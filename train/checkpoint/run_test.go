package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNameFor(t *testing.T) {
	for path, want := range map[string]string{
		"book.txt": "book", "dir/My Book (2).txt": "My-Book--2", "/a/b.c.md": "b.c", "ü.txt": "ü",
		".txt": "run", "..": "run", "a": "a", "-x.txt": "x", "sp ace": "sp-ace",
	} {
		if got := NameFor(path); got != want {
			t.Errorf("NameFor(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestStepName(t *testing.T) {
	for step, name := range map[int]string{0: "step-000000", 500: "step-000500", 1234567: "step-1234567"} {
		if got := StepName(step); got != name {
			t.Errorf("step %d: %s, want %s", step, got, name)
		}
		if got, ok := stepOf(name); got != step || !ok {
			t.Errorf("%s: step %d %v, want %d", name, got, ok, step)
		}
	}
	for _, name := range []string{"step-500", "step-0000500", "step--00500", "step-000500/", "../step-000500", "step-9999999999999999999999", ""} {
		if step, ok := stepOf(name); ok {
			t.Errorf("%q was taken for step %d", name, step)
		}
	}
}

func TestCreateNumbersRuns(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "runs")
	for _, want := range []string{"book", "book-2", "book-3"} {
		r, err := Create(parent, "book")
		if err != nil {
			t.Fatal(err)
		}
		if r.Path != filepath.Join(parent, want) || list(t, r.Path) != Dir {
			t.Errorf("%s with %s, want %s", r.Path, list(t, r.Path), want)
		}
	}
	for _, name := range []string{"", "a/b"} {
		if _, err := Create(parent, name); err == nil {
			t.Errorf("a run named %q was made", name)
		}
	}
}

func TestCreateAtRefusesARun(t *testing.T) {
	r := newRun(t, 1240)
	_, err := CreateAt(r.Path, false)
	want := r.Path + " holds a run of step 1,240; continue it with --resume, or name another --out-dir"
	if exists := (*RunExistsError)(nil); !errors.As(err, &exists) || exists.Step != 1240 || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	other := filepath.Join(t.TempDir(), "other")
	writeFile(t, filepath.Join(other, MetricsFile), "{}\n")
	if _, err := CreateAt(other, false); err == nil || !strings.Contains(err.Error(), "has no checkpoint") {
		t.Errorf("a directory with %s: error %v", MetricsFile, err)
	}
	empty := t.TempDir()
	writeFile(t, filepath.Join(empty, "notes.txt"), "mine")
	if _, err := CreateAt(empty, false); err != nil {
		t.Errorf("a directory with a file of somebody else: %v", err)
	}
}

// Force removes the run that was there, and nothing else.
func TestCreateAtForce(t *testing.T) {
	r := newRun(t, 1, 2)
	for _, name := range []string{MetricsFile, SettingsFile, SamplesDir + "/step-000001.txt",
		"notes.txt", SamplesDir + "/mine.txt", Dir + "/notes.txt", Dir + "/step-000002/notes.txt"} {
		writeFile(t, r.File(name), name)
	}
	if _, err := CreateAt(r.Path, true); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"": "checkpoints notes.txt samples", SamplesDir: "mine.txt", Dir: "notes.txt step-000002",
	} {
		if got := list(t, r.File(dir)); got != want {
			t.Errorf("%q holds %s, want %s", dir, got, want)
		}
	}
}

// An output directory that cannot be is refused by name, and leaves nothing behind.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	writeFile(t, file, "mine")
	for path, want := range map[string]string{
		"":                                  "--out-dir",
		file:                                file + ": it is a file",
		filepath.Join(file, "below"):        filepath.Join(file, "below") + ": not a directory",
		filepath.Join(file, "below", "two"): filepath.Join(file, "below", "two") + ": not a directory",
	} {
		if _, err := CreateAt(path, false); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want a line with %s", path, err, want)
		}
	}
	if _, err := Create(file, "book"); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a run below a file: error %v", err)
	}
	if os.Getuid() != 0 {
		locked := filepath.Join(dir, "locked")
		if err := os.Mkdir(locked, 0o555); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{locked, filepath.Join(locked, "below")} {
			if _, err := CreateAt(path, false); err == nil || !strings.Contains(err.Error(), path+": ") {
				t.Errorf("%s without the right to write: error %v", path, err)
			}
		}
		if err := os.Remove(locked); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, dir); got != "file" {
		t.Errorf("left behind: %s", got)
	}
}

func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	r, err := CreateAt(filepath.Join(dir, "a", "b"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Discard(); err != nil || list(t, dir) != "" {
		t.Errorf("%v, left behind: %s", err, list(t, dir))
	}
	r, err = CreateAt(dir, false) // which was there before
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Discard(); err != nil || list(t, filepath.Dir(dir)) == "" || list(t, dir) != "" {
		t.Errorf("%v, left behind: %s", err, list(t, dir))
	}
	r, err = CreateAt(filepath.Join(dir, "c"), false)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, r.File(MetricsFile), "{}\n")
	if err := r.Discard(); err != nil || list(t, r.Path) != MetricsFile {
		t.Errorf("%v, a file was lost: %s", err, list(t, r.Path))
	}
}

func TestResume(t *testing.T) {
	r := newRun(t, 7)
	again, err := Resume(r.Path)
	if err != nil {
		t.Fatal(err)
	}
	save(t, again, 8, false)
	for _, path := range []string{"", t.TempDir(), filepath.Join(r.Path, "nowhere"), r.File(Dir)} {
		if _, err := Resume(path); err == nil {
			t.Errorf("%q was resumed", path)
		}
	}
}

// What an interrupted save leaves is cleared away at the next start; a checkpoint that was set
// aside comes back, unless its successor has its name.
func TestTidy(t *testing.T) {
	r := newRun(t, 1, 2, 3)
	dir := r.File(Dir)
	rename := func(from, to string) {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, newPrefix+"123", modelFile), "half")
	writeFile(t, filepath.Join(dir, removedPrefix+"step-000000", configFile), "half")
	writeFile(t, filepath.Join(dir, ".latest123456"), "step-0")
	rename("step-000003", oldPrefix+"step-000003")
	writeFile(t, filepath.Join(dir, oldPrefix+"step-000001", configFile), "the one before")
	writeFile(t, filepath.Join(dir, newPrefix+"mine", "notes.txt"), "mine")
	writeFile(t, filepath.Join(dir, ".latest.mine"), "mine")
	if _, err := Resume(r.Path); err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, dir), ".latest.mine .tinylm-new-mine latest step-000001 step-000002 step-000003"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c, notice, err := Open(r.Path)
	if err != nil || notice != "" {
		t.Fatal(notice, err)
	}
	requireSame(t, sample(t, sampleConfig, 3), c)
}
