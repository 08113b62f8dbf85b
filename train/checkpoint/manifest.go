package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tinylm/data"
)

// The files of a checkpoint. Nothing else in its directory is read or removed.
const (
	configFile     = "config.json"
	modelFile      = "model.safetensors"
	momentsFile    = "training.safetensors"
	stateName      = "training.json"
	generationFile = "generation_config.json"
	manifestFile   = "manifest.json"
)

// tokenizerFiles are the names of the files that a tokenizer is kept in.
var tokenizerFiles = []string{
	data.TokenizerFile, "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt",
}

// checkpointFiles are the names of all files that a checkpoint may have.
var checkpointFiles = slices.Concat(tokenizerFiles,
	[]string{configFile, modelFile, momentsFile, stateName, generationFile, manifestFile})

// manifestVersion is the version of manifest.json that this package writes and reads.
const manifestVersion = 1

// manifest is manifest.json: what the other files of a checkpoint must be.
type manifest struct {
	Version int                   `json:"version"`
	Step    int                   `json:"step"`
	Files   map[string]fileDigest `json:"files"`
}

type fileDigest struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// parseManifest reads a manifest.json. It must be, byte for byte, what marshalFile makes of it, so
// that no change of it goes unseen; and it must name all files that a checkpoint has.
func parseManifest(text []byte, file string) (*manifest, error) {
	m := &manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, formatError(file, "%s", jsonReason(err))
	}
	if m.Version != manifestVersion {
		return nil, formatError(file, "version %d is not the version %d that this program reads", m.Version, manifestVersion)
	}
	if again, err := marshalFile(m); err != nil || !bytes.Equal(again, text) {
		return nil, formatError(file, "not as this program wrote it")
	}
	for _, name := range []string{configFile, modelFile, momentsFile, stateName, generationFile, data.TokenizerFile} {
		if _, ok := m.Files[name]; !ok {
			return nil, formatError(file, "%s is missing in it", name)
		}
	}
	for name := range m.Files {
		if name == manifestFile || !slices.Contains(checkpointFiles, name) {
			return nil, formatError(file, "%q is not a file of a checkpoint", name)
		}
	}
	return m, nil
}

// directory reads the files of one checkpoint, each checked against the manifest if there is one.
type directory struct {
	path     string
	manifest *manifest // nil for a model of another program
}

// openDirectory reads the manifest of the checkpoint at path and compares the sizes of the files.
// Unless it must be a checkpoint of ours, a directory without manifest and without training state is
// taken for a model of another program.
func openDirectory(path string, ours bool) (*directory, error) {
	d := &directory{path: path}
	text, err := os.ReadFile(d.file(manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		if ours || d.has(stateName) || d.has(momentsFile) {
			return nil, formatError(d.file(manifestFile), "is missing")
		}
		if !d.has(configFile) {
			return nil, formatError(path, "holds neither a run nor a model")
		}
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if d.manifest, err = parseManifest(text, d.file(manifestFile)); err != nil {
		return nil, err
	}
	for _, name := range checkpointFiles {
		if want, ok := d.manifest.Files[name]; ok {
			info, err := os.Stat(d.file(name))
			if err != nil {
				return nil, d.missing(name, err)
			}
			if info.Size() != want.Size {
				return nil, formatError(d.file(name), "%d bytes, want %d", info.Size(), want.Size)
			}
		}
	}
	return d, nil
}

func (d *directory) file(name string) string { return filepath.Join(d.path, name) }

// has reports whether the checkpoint has the file.
func (d *directory) has(name string) bool {
	if d.manifest != nil {
		_, ok := d.manifest.Files[name]
		return ok
	}
	_, err := os.Stat(d.file(name))
	return err == nil
}

// missing makes a *FormatError of a file that is not there.
func (d *directory) missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return formatError(d.file(name), "is missing")
	}
	return err
}

// read gives parse the contents and the size of a file. An error of the manifest's hash comes
// before one of parse, which then has seen what nobody wrote.
func (d *directory) read(name string, parse func(r io.Reader, size int64) error) error {
	f, size, err := openRegular(d.file(name))
	if err != nil {
		return d.missing(name, err)
	}
	defer f.Close()
	if d.manifest == nil {
		return parse(f, size)
	}
	sum := sha256.New()
	parseErr := parse(io.TeeReader(f, sum), size)
	if _, err := io.Copy(sum, f); err != nil { // what parse left
		return err
	}
	if digestOf(sum) != d.manifest.Files[name].SHA256 {
		return formatError(d.file(name), "its SHA-256 is not the one in %s: the file was damaged or changed", manifestFile)
	}
	return parseErr
}

// openRegular opens a file and returns its size; a pipe or a device, which might never end, is refused.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, formatError(path, "is not a regular file")
	}
	f, err := os.Open(path)
	return f, info.Size(), err
}

// readAll returns the contents of a file.
func (d *directory) readAll(name string) (text []byte, err error) {
	err = d.read(name, func(r io.Reader, _ int64) (err error) {
		text, err = io.ReadAll(r)
		return err
	})
	return text, err
}

func digestOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }
