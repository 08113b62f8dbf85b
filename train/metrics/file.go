package metrics

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// FormatError reports a line that is not a record.
type FormatError struct {
	File   string
	Line   int // from 1
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("%s: line %d: %s", e.File, e.Line, e.Reason) }

// Writer appends records to a metrics.jsonl. The file holds whole lines only, after an error too.
type Writer struct {
	file file
	at   int64
}

// file is what a Writer does with its *os.File.
type file interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.Closer
	Stat() (os.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// OpenWriter opens the file at path to go on at byte at, which a checkpoint keeps: 0 for a new run.
// Lines beyond, of steps that a resumed run is to do again, are cut off. A file that ends before at
// has lost lines, and is refused.
func OpenWriter(path string, at int64) (*Writer, error) {
	mode := os.O_RDWR
	if at == 0 {
		mode |= os.O_CREATE
	}
	f, err := os.OpenFile(path, mode, 0o644)
	if err != nil {
		return nil, err
	}
	if err := position(f, at); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return &Writer{file: f, at: at}, nil
}

// position cuts the file off at byte at, where a line must end.
func position(f file, at int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if at < 0 || info.Size() < at {
		return fmt.Errorf("has %d bytes, the checkpoint was saved at byte %d: lines are missing; put the file back, or begin another run", info.Size(), at)
	}
	if at > 0 {
		var end [1]byte
		if _, err := f.ReadAt(end[:], at-1); err != nil {
			return err
		}
		if end[0] != '\n' {
			return fmt.Errorf("no line ends at byte %d, where the checkpoint was saved: the file was changed", at)
		}
	}
	if err := f.Truncate(at); err != nil {
		return err
	}
	_, err = f.Seek(at, io.SeekStart)
	return err
}

// Write appends a record. If not all of its line can be written, none of it is.
func (w *Writer) Write(r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	n, err := w.file.Write(append(text, '\n'))
	if err != nil {
		return errors.Join(err, position(w.file, w.at))
	}
	w.at += int64(n)
	return nil
}

// Position returns the length of the file, to be kept in a checkpoint after a Sync.
func (w *Writer) Position() int64 { return w.at }

// Sync makes what was written durable.
func (w *Writer) Sync() error { return w.file.Sync() }

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// maxLine is the longest line read, in bytes; ours have some 300.
const maxLine = 1 << 20

// Read reads all records from r. A last line without end, which a killed run may leave, is left
// out; any other line that is not a record is a *FormatError that names file.
func Read(r io.Reader, file string) ([]Record, error) {
	lines := bufio.NewReaderSize(r, 4096)
	var records []Record
	for number := 1; ; number++ {
		text, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if errors.Is(err, errLong) {
			return nil, &FormatError{File: file, Line: number, Reason: err.Error()}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		var record Record
		if err := json.Unmarshal(text, &record); err != nil {
			return nil, &FormatError{File: file, Line: number, Reason: err.Error()}
		}
		records = append(records, record)
	}
}

var errLong = fmt.Errorf("longer than %d bytes", maxLine)

// readLine returns the next line that has an end, without it; io.EOF if there is none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			return nil, errLong
		}
		if err == nil {
			return text[:len(text)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// ReadFile reads all records of the file at path, as Read does.
func ReadFile(path string) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, path)
}
