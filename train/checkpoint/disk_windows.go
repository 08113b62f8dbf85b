package checkpoint

import (
	"os"
	"path/filepath"
)

// Replace writes a file beside path, syncs it, and moves it over path, which Windows does in one
// step on one volume.
func (osDisk) Replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path))
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// SyncDir does nothing: Windows cannot sync a directory. A name may be lost there with the power,
// the files of earlier checkpoints not.
func (osDisk) SyncDir(string) error { return nil }
