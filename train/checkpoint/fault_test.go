package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// quickDisk is a disk that syncs nothing, for tests of many saves.
type quickDisk struct{ osDisk }

func (d quickDisk) Create(path string) (diskFile, error) {
	f, err := d.osDisk.Create(path)
	return quickFile{f}, err
}

func (quickDisk) SyncDir(string) error { return nil }

func (quickDisk) Replace(path string, text []byte) error {
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"0")
	return errors.Join(os.WriteFile(temp, text, 0o644), os.Rename(temp, path))
}

type quickFile struct{ diskFile }

func (quickFile) Sync() error { return nil }

// faultyDisk lets operations through until its budget is spent. Then it fails one with ENOSPC, or,
// as a process does that is killed, all of them: cleaning up as well.
type faultyDisk struct {
	quickDisk
	budget int
	killed bool
	failed bool
}

func (d *faultyDisk) fault() error {
	d.budget--
	if d.budget < 0 && (d.killed || !d.failed) {
		d.failed = true
		return syscall.ENOSPC
	}
	return nil
}

func (d *faultyDisk) MkdirTemp(dir, pattern string) (string, error) {
	if err := d.fault(); err != nil {
		return "", err
	}
	return d.quickDisk.MkdirTemp(dir, pattern)
}

func (d *faultyDisk) Create(path string) (diskFile, error) {
	if err := d.fault(); err != nil {
		return nil, err
	}
	f, err := d.quickDisk.Create(path)
	return &faultyFile{diskFile: f, disk: d}, err
}

func (d *faultyDisk) Rename(from, to string) error {
	if err := d.fault(); err != nil {
		return err
	}
	return d.quickDisk.Rename(from, to)
}

func (d *faultyDisk) Remove(path string) error {
	if err := d.fault(); err != nil {
		return err
	}
	return d.quickDisk.Remove(path)
}

func (d *faultyDisk) SyncDir(path string) error {
	if err := d.fault(); err != nil {
		return err
	}
	return d.quickDisk.SyncDir(path)
}

func (d *faultyDisk) Replace(path string, text []byte) error {
	if err := d.fault(); err != nil {
		return err
	}
	return d.quickDisk.Replace(path, text)
}

// faultyFile fails in its first or second write, having written half.
type faultyFile struct {
	diskFile
	disk   *faultyDisk
	writes int
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if f.writes++; f.writes > 2 && !f.disk.failed {
		return f.diskFile.Write(p)
	}
	if err := f.disk.fault(); err != nil {
		n, _ := f.diskFile.Write(p[:len(p)/2])
		return n, err
	}
	return f.diskFile.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.disk.fault(); err != nil {
		return err
	}
	return f.diskFile.Sync()
}

func (f *faultyFile) Close() error {
	return errors.Join(f.diskFile.Close(), f.disk.fault())
}

// A disk that is full, or a process that is killed, at any operation of a save: what loads afterwards
// is whole, of the save before or of this one; nothing incomplete has a checkpoint's name; and the
// next start clears up and goes on. So for a new step, and for one that is saved again.
func TestFaults(t *testing.T) {
	for _, killed := range []bool{false, true} {
		for _, again := range []bool{false, true} {
			r := newRun(t)
			r.disk = quickDisk{}
			save(t, r, 0, false)
			save(t, r, 1, false)
			budget := 0
			if again {
				budget = 40 // writing the files is the same as for a new step
			}
			for completed := false; !completed; budget++ {
				completed = faultAt(t, r, budget, killed, again)
				if budget > 200 {
					t.Fatal("a save that never ends")
				}
			}
		}
	}
}

// faultAt saves in a run on a disk that fails after budget operations, and reports whether the save
// got through without meeting the fault. The run ends with another, whole checkpoint.
func faultAt(t *testing.T, r *Run, budget int, killed, again bool) bool {
	t.Helper()
	step, err := readPointer(r.File("checkpoints/latest"))
	if err != nil {
		t.Fatal(err)
	}
	before, next := sample(t, sampleConfig, step), sample(t, sampleConfig, step+1)
	if again {
		next = sample(t, sampleConfig, step)
		next.State.Seconds++
	}
	d := &faultyDisk{budget: budget, killed: killed}
	_, err = (&Run{Path: r.Path, Keep: 2, disk: d}).Save(next, true)
	switch {
	case err == nil:
	case !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), r.File(Dir)):
		t.Fatalf("budget %d: error %v, want the disk's, with the path", budget, err)
	case !killed && strings.Contains(list(t, r.File(Dir)), newPrefix):
		t.Fatalf("budget %d: left %s", budget, list(t, r.File(Dir)))
	}
	requireWholeSteps(t, r)
	resumed, resumeErr := Resume(r.Path)
	if resumeErr != nil {
		t.Fatalf("budget %d: %v", budget, resumeErr)
	}
	requireEither(t, resumed, before, next, err == nil)
	if got := list(t, r.File(Dir)); strings.Contains(got, ".") {
		t.Fatalf("budget %d: not tidied: %s", budget, got)
	}
	resumed.disk, resumed.Keep = quickDisk{}, 2
	save(t, resumed, step+2, true)
	c, notice, openErr := OpenModel(r.Path)
	if openErr != nil || notice != "" || c.State.Step != step+2 {
		t.Fatalf("budget %d: %q %v", budget, notice, openErr)
	}
	return !d.failed
}

// requireWholeSteps checks that whatever has the name of a checkpoint is a whole one.
func requireWholeSteps(t *testing.T, r *Run) {
	t.Helper()
	steps, err := listSteps(r.File(Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if c, _, err := Open(r.File(Dir + "/" + StepName(step))); err != nil || c.State.Step != step {
			t.Fatalf("step %d: %v", step, err)
		}
	}
}

// requireEither checks that the run loads as one of two checkpoints, the later if it was saved.
func requireEither(t *testing.T, r *Run, before, next *Checkpoint, saved bool) {
	t.Helper()
	c, notice, err := Open(r.Path)
	if err != nil || notice != "" {
		t.Fatal(notice, err)
	}
	if !saved && c.State.Step == before.State.Step && c.State.Seconds == before.State.Seconds {
		next = before
	}
	requireSame(t, next, c)
}
