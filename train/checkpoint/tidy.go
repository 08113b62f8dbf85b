package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tidy clears away what interrupted saves left: directories half written or half removed, and
// temporary pointer files. A checkpoint set aside, whose successor never came, is put back.
func (r *Run) tidy() error {
	entries, err := os.ReadDir(r.checkpoints())
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(r.checkpoints(), e.Name())
		switch name := e.Name(); {
		case strings.HasPrefix(name, newPrefix), strings.HasPrefix(name, removedPrefix):
			err = r.removeLeft(path)
		case strings.HasPrefix(name, oldPrefix):
			err = r.putBack(path, filepath.Join(r.checkpoints(), strings.TrimPrefix(name, oldPrefix)))
		case pointerLeavings.MatchString(name):
			err = r.disk.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// putBack gives a checkpoint that was set aside its name again, or removes it if that is taken.
func (r *Run) putBack(aside, path string) error {
	if _, err := os.Stat(path); err == nil {
		return r.removeLeft(aside)
	}
	return r.disk.Rename(aside, path)
}

// removeLeft removes a directory of ours, unless it is gone, or somebody has put a file into it.
func (r *Run) removeLeft(path string) error {
	if !onlyOwn(path) {
		return nil
	}
	return removeCheckpoint(r.disk, path)
}

// clear removes the files of a run, the pointers first.
func (r *Run) clear() error {
	names := []string{filepath.Join(Dir, latestName), filepath.Join(Dir, bestName), MetricsFile, SettingsFile}
	for _, name := range names {
		if err := r.disk.Remove(r.File(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	samples, err := filepath.Glob(r.File(filepath.Join(SamplesDir, "step-*.txt")))
	if err != nil {
		return err
	}
	for _, path := range samples {
		if err := r.disk.Remove(path); err != nil {
			return err
		}
	}
	steps, err := listSteps(r.checkpoints())
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := r.removeStep(step); err != nil {
			return err
		}
	}
	return nil
}

// prune removes the checkpoints beyond the Keep newest up to step, except the best. Those after
// step belong to a line of training that was left (resume from an earlier step); they stay until
// training comes to their step. What cannot be removed now is tried again at the next save.
func (r *Run) prune(step int) {
	if r.Keep < 1 {
		return
	}
	best, err := readPointer(filepath.Join(r.checkpoints(), bestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return // a damaged pointer: the best may be any of them
	}
	hasBest := err == nil
	steps, err := listSteps(r.checkpoints())
	if err != nil {
		return
	}
	kept := 0
	for _, s := range steps {
		switch {
		case s > step:
		case kept < r.Keep:
			kept++
		case hasBest && s == best:
		default:
			_ = r.removeStep(s) // see above
		}
	}
}

// removeStep removes a checkpoint: out of sight first, so that no half of it is ever seen under its
// name. One that somebody has put a file into stays.
func (r *Run) removeStep(step int) error {
	path := filepath.Join(r.checkpoints(), StepName(step))
	if !onlyOwn(path) {
		return nil
	}
	removed := filepath.Join(r.checkpoints(), removedPrefix+StepName(step))
	if err := r.disk.Rename(path, removed); err != nil {
		return err
	}
	return removeCheckpoint(r.disk, removed)
}
