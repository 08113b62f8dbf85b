package checkpoint

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordingDisk notes the order of what reaches the disk.
type recordingDisk struct {
	osDisk
	log []string
}

func (d *recordingDisk) note(what, path string) { d.log = append(d.log, what+" "+filepath.Base(path)) }

func (d *recordingDisk) Create(path string) (diskFile, error) {
	d.note("create", path)
	f, err := d.osDisk.Create(path)
	return &recordingFile{f, d, path}, err
}

func (d *recordingDisk) Rename(from, to string) error {
	d.note("rename to", to)
	return d.osDisk.Rename(from, to)
}

func (d *recordingDisk) SyncDir(path string) error {
	if strings.HasPrefix(filepath.Base(path), newPrefix) {
		d.note("sync", newPrefix) // the rest of the name is random
	} else {
		d.note("sync", path)
	}
	return d.osDisk.SyncDir(path)
}

func (d *recordingDisk) Replace(path string, text []byte) error {
	d.note("replace", path)
	return d.osDisk.Replace(path, text)
}

type recordingFile struct {
	diskFile
	disk *recordingDisk
	path string
}

func (f *recordingFile) Write(p []byte) (int, error) {
	if log := f.disk.log; log[len(log)-1] != "write "+filepath.Base(f.path) {
		f.disk.note("write", f.path)
	}
	return f.diskFile.Write(p)
}

func (f *recordingFile) Sync() error {
	f.disk.note("sync", f.path)
	return f.diskFile.Sync()
}

// A power cut cannot be tried here, but the order that survives one can be checked: each file is
// synced after its last byte, the directory after its last file, the name after that, and the
// pointers move last.
func TestSaveOrder(t *testing.T) {
	r := newRun(t)
	d := &recordingDisk{}
	r.disk = d
	save(t, r, 3, true)
	var want []string
	names := slices.Sorted(slices.Values(checkpointFiles))
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == manifestFile }), manifestFile)
	for _, name := range names {
		want = append(want, "create "+name, "write "+name, "sync "+name)
	}
	want = append(want, "sync "+newPrefix, "rename to step-000003", "sync checkpoints", "replace best", "replace latest")
	if !slices.Equal(d.log, want) {
		t.Errorf("order\n%s\nwant\n%s", strings.Join(d.log, "\n"), strings.Join(want, "\n"))
	}
}
