package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tinylm/layers"
)

// Open loads a checkpoint with everything that training needs. The path is that of a run, whose
// latest checkpoint is meant; of one checkpoint; of a pointer (RUN/checkpoints/best); or of a
// Hugging Face GPT-2 directory, which has no State and no Moments.
//
// If the checkpoint that a run or a pointer names is damaged, the newest whole one before it is
// loaded, and the notice says so in one line; otherwise the notice is empty. What is wrong with a
// file is reported as a *FormatError.
func Open(path string) (c *Checkpoint, notice string, err error) { return open(path, true) }

// OpenModel is Open without the moments, for a model that is not to be trained: it reads a third.
func OpenModel(path string) (c *Checkpoint, notice string, err error) { return open(path, false) }

func open(path string, moments bool) (*Checkpoint, string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s does not exist", path)
	}
	if err != nil {
		return nil, "", err
	}
	if !info.IsDir() {
		return openPointed(path, moments)
	}
	if checkpoints, err := os.Stat(filepath.Join(path, Dir)); err == nil && checkpoints.IsDir() {
		return openPointed(filepath.Join(path, Dir, latestName), moments)
	}
	c, err := readCheckpoint(path, false, moments)
	return c, "", err
}

// openPointed loads the checkpoint that a pointer names, or one before it. A trainer may move the
// pointer and remove the checkpoint meanwhile; then it looks again.
func openPointed(pointer string, moments bool) (c *Checkpoint, notice string, err error) {
	for range 5 {
		step, pointerErr := readPointer(pointer)
		if pointerErr != nil && filepath.Base(pointer) != latestName {
			return nil, "", pointerErr
		}
		c, notice, err = openFrom(filepath.Dir(pointer), step, pointerErr, moments)
		if err == nil && notice == "" {
			return c, "", nil
		}
		if again, err := readPointer(pointer); (err == nil) == (pointerErr == nil) && again == step {
			break
		}
	}
	return c, notice, err
}

// openFrom loads the newest whole checkpoint of dir up to step, or of all if the pointer that
// should give step could not be read.
func openFrom(dir string, step int, pointerErr error, moments bool) (*Checkpoint, string, error) {
	steps, err := listSteps(dir)
	if err != nil {
		return nil, "", err
	}
	damage := pointerErr
	if pointerErr == nil {
		steps = slices.DeleteFunc(steps, func(s int) bool { return s > step })
		if !slices.Contains(steps, step) {
			damage = formatError(filepath.Join(dir, StepName(step)), "is missing")
		}
	}
	for _, s := range steps {
		c, err := readCheckpoint(filepath.Join(dir, StepName(s)), true, moments)
		if err == nil {
			return c, fallbackNotice(damage, c), nil
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil, "", err
		}
		if damage == nil {
			damage = err
		}
	}
	if len(steps) == 0 && errors.Is(pointerErr, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s has no checkpoint yet", filepath.Dir(dir))
	}
	return nil, "", fmt.Errorf("no checkpoint in %s is whole: %w", dir, damage)
}

// fallbackNotice says why another checkpoint was loaded than the one named, if it was.
func fallbackNotice(damage error, c *Checkpoint) string {
	if damage == nil {
		return ""
	}
	return fmt.Sprintf("%v; loaded %s instead", damage, filepath.Base(c.Path))
}

// readCheckpoint loads the checkpoint in a directory or, unless it must be ours, the model of
// another program.
func readCheckpoint(path string, ours, moments bool) (*Checkpoint, error) {
	d, err := openDirectory(path, ours)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Path: path, TokenizerFiles: map[string][]byte{}}
	config, err := d.readAll(configFile)
	if err != nil {
		return nil, err
	}
	if c.Config, c.EndOfText, err = ParseConfig(config, d.file(configFile)); err != nil {
		return nil, err
	}
	for _, name := range tokenizerFiles {
		if d.has(name) {
			if c.TokenizerFiles[name], err = d.readAll(name); err != nil {
				return nil, err
			}
		}
	}
	if err := c.readWeights(d); err != nil {
		return nil, err
	}
	if d.manifest == nil {
		return c, nil
	}
	return c, c.readTraining(d, moments)
}

// readWeights reads the parameters.
func (c *Checkpoint) readWeights(d *directory) error {
	return d.read(modelFile, func(r io.Reader, size int64) error {
		wanted := func(name string) bool { return !buffer.MatchString(name) }
		tensors, _, err := readTensors[float32](r, size, d.file(modelFile), wanted)
		if err != nil {
			return err
		}
		if c.Weights, err = fromFile(c.Config, tensors); err != nil {
			return formatError(d.file(modelFile), "%v", err)
		}
		return nil
	})
}

// readTraining reads the state and, if wanted, the moments of a checkpoint of ours.
func (c *Checkpoint) readTraining(d *directory, moments bool) error {
	if _, err := d.readAll(generationFile); err != nil { // nothing in it that config.json has not
		return err
	}
	text, err := d.readAll(stateName)
	if err != nil {
		return err
	}
	if c.State, err = ParseState(text, d.file(stateName)); err != nil {
		return err
	}
	if c.State.Step != d.manifest.Step {
		return formatError(d.file(manifestFile), "is of step %d, but %s of step %d", d.manifest.Step, stateName, c.State.Step)
	}
	if !moments {
		return nil
	}
	return d.read(momentsFile, func(r io.Reader, size int64) error {
		tensors, _, err := ReadSafetensors[float32](r, size, d.file(momentsFile))
		if err != nil {
			return err
		}
		if c.Moments, err = match(tensors, momentSpecs(c.Config)); err != nil {
			return formatError(d.file(momentsFile), "%v", err)
		}
		return nil
	})
}

// LoadInto copies the weights into a model's parameters, which must be those of c.Config.
func (c *Checkpoint) LoadInto(p *layers.Parameters) error {
	if have, want := len(c.Weights), len(p.List()); have != want {
		return fmt.Errorf("the checkpoint has %d tensors, the model %d", have, want)
	}
	for _, w := range c.Weights {
		if err := p.Load(w.Name, w.Shape, w.Data); err != nil {
			return err
		}
	}
	return nil
}
