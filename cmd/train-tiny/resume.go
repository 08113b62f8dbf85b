package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tinylm/data"
	"tinylm/train/checkpoint"
)

// textSetting is the entry of a checkpoint's settings that says where the text is, besides the flags.
const textSetting = "text"

// mayChange are the settings that a resumed run may have other values of: they do not touch what is
// learned from a batch. --max-iters moves the end of the schedule, which is said.
var mayChange = []string{"max-iters", "epochs", "time", "eval-interval", "save-interval", "log-interval", "keep", "out-dir", textSetting}

// resumed is the run that a command goes on with.
type resumed struct {
	dir        string
	checkpoint *checkpoint.Checkpoint
	settings   map[string]string // as saved
	notice     string            // about a damaged checkpoint; may be empty
}

// openResumed reads the latest whole checkpoint of a run directory.
func openResumed(dir string) (*resumed, error) {
	if dir == "" {
		return nil, usagef("--resume needs --out-dir, the directory of the run")
	}
	c, notice, err := checkpoint.Open(dir)
	if info, _ := os.Stat(dir); err != nil && info != nil && info.IsDir() {
		if _, missing := os.Stat(filepath.Join(dir, checkpoint.Dir)); missing != nil {
			return nil, fmt.Errorf("cannot resume %s: it holds no checkpoint; begin a run there without --resume", dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot resume %s: %w", dir, err)
	}
	if c.State == nil {
		return nil, fmt.Errorf("cannot resume %s: it holds a model but no training state", dir)
	}
	return &resumed{dir: dir, checkpoint: c, settings: c.State.Settings, notice: notice}, nil
}

// savedLayer is what a checkpoint says of the settings.
func savedLayer(c *checkpoint.Checkpoint) layer {
	values := maps.Clone(c.State.Settings)
	delete(values, textSetting)
	return layer{place: c.Path, values: values}
}

// textPath is where the run's text was.
func (r *resumed) textPath() string { return r.settings[textSetting] }

// check compares the settings, then the number of steps, with those of the run.
func (r *resumed) check(now settings) error {
	saved, free := r.settings, mayChange
	if (saved["eval-interval"] == "0") != (now.Train.EvalInterval == 0) { // changes what is trained on
		free = slices.DeleteFunc(slices.Clone(free), func(name string) bool { return name == "eval-interval" })
	}
	if lines := checkpoint.DifferentSettings(saved, now.texts(), free...); len(lines) > 0 {
		return fmt.Errorf("cannot resume %s: %s", r.dir, strings.Join(lines, "; "))
	}
	return r.checkLimits(now.Train)
}

// checkLimits refuses a run that has nothing left to do.
func (r *resumed) checkLimits(now trainSettings) error {
	state := r.checkpoint.State
	if now.Epochs == 0 && now.MaxIters <= state.Step {
		return fmt.Errorf("cannot resume %s: %s steps are done already and --max-iters is %s; give a larger --max-iters",
			r.dir, data.Thousands(state.Step), data.Thousands(now.MaxIters))
	}
	if now.Time > 0 && state.Seconds >= now.Time.Seconds() {
		return fmt.Errorf("cannot resume %s: it was trained for %s already and --time is %v; give a larger --time, such as %v",
			r.dir, timeText(time.Duration(state.Seconds*float64(time.Second))), now.Time, moreTime(now.Time, state.Seconds))
	}
	return nil
}

// moreTime doubles a positive limit of the time until it is more than the seconds trained.
func moreTime(limit time.Duration, seconds float64) time.Duration {
	for limit < math.MaxInt64/2 {
		if limit *= 2; limit.Seconds() > seconds {
			break
		}
	}
	return limit
}

// checkText refuses another text than the run's.
func (r *resumed) checkText(t *corpus) error {
	if was := r.checkpoint.State.TextSHA256; t.SHA256 != was {
		return fmt.Errorf("cannot resume %s: its text had SHA-256 %s, %s has %s", r.dir, was, t.name(), t.SHA256)
	}
	return nil
}

// scheduleNotice says that the end of the learning rate's schedule has moved; "" if it has not.
func (r *resumed) scheduleNotice(iters int) string {
	was := r.settings["max-iters"]
	if was == fmt.Sprint(iters) {
		return ""
	}
	return fmt.Sprintf("--max-iters was %s, now %d: the learning rate follows the new schedule from here", was, iters)
}
