package checkpoint

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tinylm/data"
	"tinylm/layers"
)

// Checkpoint is a model with its tokenizer and, within a run, the state of its training.
type Checkpoint struct {
	Path string // directory that it was read from; set by Open

	Config         layers.Config
	EndOfText      int               // id; -1 if a model of another program names none
	TokenizerFiles map[string][]byte // tokenizer.json and those beside it, by name

	Weights []Tensor // every parameter, by Hugging Face's name: transformer.wte.weight and so on
	Moments []Tensor // m.NAME and v.NAME for every parameter; nil if not read
	State   *State   // nil for a model of another program
}

// Save writes c as the checkpoint of its step, moves latest to it, and best too if best is set. It
// returns the checkpoint's directory. After an error the earlier checkpoints are as they were, latest
// names a whole one, and nothing incomplete has a checkpoint's name. A value that is NaN or infinite is a
// *NonFiniteError. Save reads the tensors' data before it returns and keeps none of it.
func (r *Run) Save(c *Checkpoint, best bool) (string, error) {
	files, err := c.files()
	if err != nil {
		return "", err
	}
	name := StepName(c.State.Step)
	path := filepath.Join(r.checkpoints(), name)
	if err := r.writeDirectory(path, c.State.Step, files); err != nil {
		return "", fmt.Errorf("cannot save %s: %w", path, err)
	}
	pointers := []string{latestName}
	if best { // first, so that latest is never a best that best does not name
		pointers = []string{bestName, latestName}
	}
	for _, pointer := range pointers {
		if err := r.disk.Replace(filepath.Join(r.checkpoints(), pointer), []byte(name+"\n")); err != nil {
			return "", fmt.Errorf("saved %s, but cannot write %s: %w", path, pointer, err)
		}
	}
	r.prune(c.State.Step)
	return path, nil
}

// files returns a function for each file of the checkpoint that writes it.
func (c *Checkpoint) files() (map[string]func(io.Writer) error, error) {
	if c.State == nil {
		return nil, errors.New("a checkpoint without training state cannot be saved in a run")
	}
	weights, err := c.finite(c.Weights, parameterSpecs)
	if err != nil {
		return nil, err
	}
	moments, err := c.finite(c.Moments, momentSpecs)
	if err != nil {
		return nil, err
	}
	texts := maps.Clone(c.TokenizerFiles)
	if texts[data.TokenizerFile] == nil {
		return nil, fmt.Errorf("a checkpoint needs its %s", data.TokenizerFile)
	}
	for name := range texts {
		if !slices.Contains(tokenizerFiles, name) {
			return nil, fmt.Errorf("%q is not the name of a tokenizer's file", name)
		}
	}
	for name, format := range map[string]func() ([]byte, error){
		configFile:     func() ([]byte, error) { return FormatConfig(c.Config, c.EndOfText) },
		generationFile: func() ([]byte, error) { return generationConfig(c.EndOfText) },
		stateName:      func() ([]byte, error) { return FormatState(c.State) },
	} {
		if texts[name], err = format(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	files := map[string]func(io.Writer) error{
		modelFile:   tensorWriter(toFile(c.Config, weights)),
		momentsFile: tensorWriter(moments),
	}
	for name, text := range texts {
		files[name] = textWriter(text)
	}
	return files, nil
}

// finite returns the tensors in the order of the model's, or what is wrong with them.
func (c *Checkpoint) finite(tensors []Tensor, specs specsOf) ([]Tensor, error) {
	tensors, err := match(tensors, specs(c.Config.WithDefaults()))
	if err != nil {
		return nil, err
	}
	for _, t := range tensors {
		if i := firstNonFinite(t.Data); i >= 0 {
			return nil, &NonFiniteError{Tensor: t.Name, Index: i, Value: t.Data[i]}
		}
	}
	return tensors, nil
}

func textWriter(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

func tensorWriter(tensors []Tensor) func(io.Writer) error {
	return func(w io.Writer) error {
		return WriteSafetensors(w, tensors, map[string]string{"format": "pt"})
	}
}

// writeDirectory writes the files and their manifest to a directory beside path, makes them
// durable, and gives the directory its name. If it fails, it removes what it wrote.
func (r *Run) writeDirectory(path string, step int, files map[string]func(io.Writer) error) error {
	temp, err := r.disk.MkdirTemp(r.checkpoints(), newPrefix)
	if err != nil {
		return err
	}
	if err = r.fill(temp, step, files); err == nil {
		err = r.moveIn(temp, path)
	}
	if err != nil {
		_ = removeCheckpoint(r.disk, temp) // what stays, tidy removes
	}
	return err
}

// fill writes the files and their manifest to dir and makes them durable.
func (r *Run) fill(dir string, step int, files map[string]func(io.Writer) error) error {
	m := manifest{Version: manifestVersion, Step: step, Files: map[string]fileDigest{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		digest, err := r.writeFile(filepath.Join(dir, name), files[name])
		if err != nil {
			return err
		}
		m.Files[name] = digest
	}
	text, err := marshalFile(m)
	if err != nil {
		return err
	}
	if _, err := r.writeFile(filepath.Join(dir, manifestFile), textWriter(text)); err != nil {
		return err
	}
	return r.disk.SyncDir(dir)
}

// writeFile writes a new file durably and returns its digest.
func (r *Run) writeFile(path string, write func(io.Writer) error) (fileDigest, error) {
	f, err := r.disk.Create(path)
	if err != nil {
		return fileDigest{}, err
	}
	sum := &digester{hash: sha256.New()}
	err = write(io.MultiWriter(f, sum))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return fileDigest{Size: sum.size, SHA256: digestOf(sum.hash)}, err
}

// digester takes the digest of what is written to it.
type digester struct {
	hash hash.Hash
	size int64
}

func (d *digester) Write(p []byte) (int, error) {
	d.size += int64(len(p))
	return d.hash.Write(p)
}

// moveIn renames temp to path. A checkpoint that has the name is set aside until this is done.
func (r *Run) moveIn(temp, path string) error {
	aside := filepath.Join(r.checkpoints(), oldPrefix+filepath.Base(path))
	_, err := os.Stat(path)
	replaces := err == nil
	if replaces {
		if err := r.removeLeft(aside); err != nil {
			return err
		}
		if err := r.disk.Rename(path, aside); err != nil {
			return err
		}
	}
	if err := r.disk.Rename(temp, path); err != nil {
		if replaces {
			_ = r.disk.Rename(aside, path) // or tidy does it
		}
		return err
	}
	if err := r.disk.SyncDir(r.checkpoints()); err != nil {
		return err
	}
	if replaces {
		_ = r.removeLeft(aside) // or tidy does it
	}
	return nil
}
