package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Names in a run directory.
const (
	SettingsFile = "config.json"   // settings of the run
	MetricsFile  = "metrics.jsonl" // its record
	SamplesDir   = "samples"       // texts written on the way
	Dir          = "checkpoints"   // the checkpoints

	latestName = "latest" // pointers in Dir
	bestName   = "best"
)

// Names in Dir of directories that are not, or no longer, a checkpoint.
const (
	newPrefix     = ".tinylm-new-" // being written
	oldPrefix     = ".tinylm-old-" // set aside while another takes its name
	removedPrefix = ".tinylm-del-" // being removed
)

var (
	stepPattern     = regexp.MustCompile(`^step-([0-9]{6,18})$`)
	pointerLeavings = regexp.MustCompile(`^\.(latest|best)[0-9]+$`) // of an interrupted Replace
)

// StepName returns the name of the checkpoint of a step: step-000500.
func StepName(step int) string { return fmt.Sprintf("step-%06d", step) }

// stepOf is the inverse of StepName.
func stepOf(name string) (int, bool) {
	m := stepPattern.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	step, err := strconv.Atoi(m[1])
	return step, err == nil && StepName(step) == name
}

// Run is a run directory, open for saving.
type Run struct {
	Path string
	Keep int // checkpoints to keep, the newest, besides the best; 0 keeps all

	disk disk
	made []string // directories that did not exist before, outermost first
}

// NameFor returns the name of a run on the text at path: that of the file, without its ending and
// without what is awkward in a shell.
func NameFor(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, name)
	if name = strings.Trim(name, "-."); name == "" {
		return "run"
	}
	return name
}

// Create makes a new run directory parent/name, or parent/name-2 and so on if that exists.
func Create(parent, name string) (*Run, error) {
	if parent == "" || name == "" || name != filepath.Base(name) {
		return nil, fmt.Errorf("a run needs a directory and a name, got %q and %q", parent, name)
	}
	r := &Run{Path: filepath.Join(parent, name), disk: osDisk{}}
	if err := r.mkdirAll(parent); err != nil {
		return nil, r.giveUp(err)
	}
	err := os.Mkdir(r.Path, 0o755)
	for i := 2; errors.Is(err, fs.ErrExist); i++ {
		r.Path = filepath.Join(parent, fmt.Sprintf("%s-%d", name, i))
		err = os.Mkdir(r.Path, 0o755)
	}
	if err != nil {
		return nil, r.giveUp(err)
	}
	r.made = append(r.made, r.Path)
	return r.prepare()
}

// CreateAt makes path a run directory. If it holds a run already, that is a *RunExistsError; with
// force, the files of that run are removed (nothing else), and a new one begins.
func CreateAt(path string, force bool) (*Run, error) {
	if path == "" {
		return nil, errors.New("the name of the output directory is empty; give one with --out-dir")
	}
	r := &Run{Path: filepath.Clean(path), disk: osDisk{}}
	step, holds := holdsRun(r.Path)
	if holds && !force {
		return nil, &RunExistsError{Dir: r.Path, Step: step}
	}
	if err := r.mkdirAll(r.Path); err != nil {
		return nil, r.giveUp(err)
	}
	if _, err := r.prepare(); err != nil {
		return nil, err
	}
	if holds {
		if err := r.clear(); err != nil {
			return nil, r.giveUp(err)
		}
	}
	return r, nil
}

// Resume opens the run directory at path to go on with it, and removes what an interrupted save
// left there.
func Resume(path string) (*Run, error) {
	r := &Run{Path: filepath.Clean(path), disk: osDisk{}}
	switch step, holds := holdsRun(r.Path); {
	case path == "" || !holds:
		return nil, fmt.Errorf("%q holds no run to resume", path)
	case step < 0:
		return nil, fmt.Errorf("the run in %s has no checkpoint to resume from; start anew with --force", r.Path)
	}
	return r.prepare()
}

// prepare makes the directory of checkpoints, shows that it can be written, and tidies it.
func (r *Run) prepare() (*Run, error) {
	if err := r.mkdirAll(r.checkpoints()); err != nil {
		return nil, r.giveUp(err)
	}
	probe, err := r.disk.MkdirTemp(r.checkpoints(), newPrefix)
	if err == nil {
		err = r.disk.Remove(probe)
	}
	if err == nil {
		err = r.tidy()
	}
	for i := len(r.made) - 1; i >= 0 && err == nil; i-- {
		err = r.disk.SyncDir(filepath.Dir(r.made[i]))
	}
	if err != nil {
		return nil, r.giveUp(err)
	}
	return r, nil
}

// mkdirAll makes a directory and those above it, noting which ones are new.
func (r *Run) mkdirAll(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("it is a file")}
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path:
		if err := r.mkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	r.made = append(r.made, path)
	return nil
}

// giveUp discards the run and says why it cannot be.
func (r *Run) giveUp(err error) error {
	_ = r.Discard() // err matters more
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) && cause.Path == r.Path {
		err = cause.Err
	}
	return fmt.Errorf("cannot write to the output directory %s: %w", r.Path, err)
}

// Discard undoes Create and CreateAt for a run that did not begin after all: it removes the
// directories that they made, as far as they are empty.
func (r *Run) Discard() error {
	for i := len(r.made) - 1; i >= 0; i-- {
		if entries, err := os.ReadDir(r.made[i]); err != nil || len(entries) > 0 {
			return err
		}
		if err := os.Remove(r.made[i]); err != nil {
			return err
		}
	}
	return nil
}

// File returns the path of a file of the run, such as [MetricsFile].
func (r *Run) File(name string) string { return filepath.Join(r.Path, name) }

func (r *Run) checkpoints() string { return r.File(Dir) }

// holdsRun reports whether a directory has files of a run, and the step of its newest checkpoint,
// -1 if it has none.
func holdsRun(path string) (step int, holds bool) {
	dir := filepath.Join(path, Dir)
	if step, err := readPointer(filepath.Join(dir, latestName)); err == nil {
		return step, true
	}
	if steps, err := listSteps(dir); err == nil && len(steps) > 0 {
		return steps[0], true
	}
	for _, name := range []string{MetricsFile, SettingsFile} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return -1, true
		}
	}
	return -1, false
}

// listSteps returns the steps that have a checkpoint in dir, whole or not, the newest first.
func listSteps(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var steps []int
	for _, e := range entries {
		if step, ok := stepOf(e.Name()); ok && e.IsDir() {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps, nil
}

// readPointer returns the step that a pointer file names.
func readPointer(path string) (int, error) {
	f, _, err := openRegular(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return 0, err
	}
	name, whole := strings.CutSuffix(string(text), "\n")
	step, ok := stepOf(name)
	if !ok || !whole {
		return 0, formatError(path, "%q is not the name of a checkpoint", text)
	}
	return step, nil
}
