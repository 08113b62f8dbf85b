//go:build !windows

package checkpoint

import (
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Replace writes a file beside path, syncs it, and renames it to path.
func (d osDisk) Replace(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := renameio.WriteFile(path, text, 0o644, renameio.WithTempDir(dir)); err != nil {
		return err
	}
	return d.SyncDir(dir)
}

func (osDisk) SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
