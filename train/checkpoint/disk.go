package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// disk is what saving does to the file system. Tests put one in its place that fails, or that stops
// at any point as a killed process does.
type disk interface {
	MkdirTemp(dir, pattern string) (string, error)
	Create(path string) (diskFile, error) // a new file, which must not exist
	Rename(from, to string) error
	Remove(path string) error               // a file or an empty directory
	SyncDir(path string) error              // makes the names in a directory durable
	Replace(path string, text []byte) error // a whole file at once, durable
}

type diskFile interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// osDisk is the disk itself; Replace and SyncDir differ between systems.
type osDisk struct{}

func (osDisk) MkdirTemp(dir, pattern string) (string, error) {
	path, err := os.MkdirTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	return path, os.Chmod(path, 0o755) // as other directories: MkdirTemp keeps it to one user
}

func (osDisk) Create(path string) (diskFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) Remove(path string) error     { return os.Remove(path) }

// removeCheckpoint removes the files of a checkpoint and then its directory. A file of anybody
// else stays, and the directory with it: that is an error.
func removeCheckpoint(d disk, dir string) error {
	for _, name := range checkpointFiles {
		if err := d.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.Remove(dir)
}

// onlyOwn reports whether a directory holds nothing but files of a checkpoint.
func onlyOwn(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() || !slices.Contains(checkpointFiles, e.Name())
	})
}
