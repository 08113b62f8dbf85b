package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func record(step int) Record {
	r := NewRecord(step)
	r.TrainLoss = 1 / float64(step+1)
	return r
}

func open(t *testing.T, path string, at int64) *Writer {
	t.Helper()
	w, err := OpenWriter(path, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func writeSteps(t *testing.T, w *Writer, from, to int) {
	t.Helper()
	for step := from; step < to; step++ {
		if err := w.Write(record(step)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
}

// steps reads the steps of a file and checks that each line is JSON.
func steps(t *testing.T, path string) []int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		if !json.Valid(line) {
			t.Errorf("not JSON: %q", line)
		}
	}
	records, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, r := range records {
		if want := 1 / float64(r.Step+1); r.TrainLoss != want {
			t.Errorf("step %d has loss %v, want %v", r.Step, r.TrainLoss, want)
		}
		list = append(list, r.Step)
	}
	return list
}

// A run that is killed after its checkpoint and resumed from it leaves each line once.
func TestWriterResumes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	w := open(t, path, 0)
	writeSteps(t, w, 0, 5)
	saved := w.Position()
	writeSteps(t, w, 5, 8)
	if _, err := w.file.Write([]byte(`{"step": 8, "train_l`)); err != nil { // killed in a line
		t.Fatal(err)
	}
	if got := steps(t, path); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("with a torn line: steps %v", got)
	}
	again := open(t, path, saved)
	writeSteps(t, again, 5, 7)
	if got := steps(t, path); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6}) {
		t.Errorf("after resume: steps %v", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != again.Position() {
		t.Errorf("%d bytes, position %d, %v", info.Size(), again.Position(), err)
	}
	for _, c := range []struct {
		at   int64
		want string
	}{
		{again.Position() + 1, "lines are missing"}, {saved - 1, "no line ends at byte"}, {-1, "lines are missing"},
	} {
		if _, err := OpenWriter(path, c.at); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("at byte %d: error %v, want %s", c.at, err, c.want)
		}
	}
	if got := steps(t, path); len(got) != 7 {
		t.Errorf("a refused position changed the file: steps %v", got)
	}
	if _, err := OpenWriter(filepath.Join(path, "below"), 0); err == nil {
		t.Error("a file below a file was opened")
	}
}

// fullFile has room for so many bytes more.
type fullFile struct {
	file
	room int
}

func (f *fullFile) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	n, err := f.file.Write(p[:n])
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// A disk that is full in the middle of a line leaves the lines before, and the writer usable.
func TestWriterDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	w := open(t, path, 0)
	writeSteps(t, w, 0, 2)
	full := &fullFile{w.file, 20}
	w.file = full
	if err := w.Write(record(2)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("error %v, want ENOSPC", err)
	}
	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) != w.Position() || text[len(text)-1] != '\n' {
		t.Errorf("%d bytes, position %d, %v", len(text), w.Position(), err)
	}
	full.room = math.MaxInt
	writeSteps(t, w, 2, 4)
	if got := steps(t, path); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("steps %v", got)
	}
}

func TestReadRefuses(t *testing.T) {
	good := `{"step":1,"train_loss":2.5}` + "\n"
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{good + "\n" + good, 2, "unexpected end"},
		{good + `{"step":"2"}` + "\n", 2, "cannot unmarshal string"},
		{good + good + `{"train_loss":2}` + "\n", 3, "no step"},
		{"null\n", 1, "no step"},
		{`{"step":1,"lr":1e999}` + "\n", 1, "1e999"},
		{good + strings.Repeat("x", maxLine+1), 2, "longer than"},
	} {
		_, err := Read(strings.NewReader(c.text), "m.jsonl")
		var format *FormatError
		if !errors.As(err, &format) || format.File != "m.jsonl" || format.Line != c.line || !strings.Contains(format.Reason, c.want) {
			t.Errorf("%.60q: error %v, want line %d, %s", c.text, err, c.line, c.want)
		}
	}
	records, err := Read(strings.NewReader(good+`{"step":2,"new_key":[1],"lr":null}`+"\n"+`{"st`), "m.jsonl")
	if err != nil || len(records) != 2 || records[0].TrainLoss != 2.5 || !math.IsNaN(records[1].LR) || !math.IsNaN(records[1].TrainLoss) {
		t.Errorf("%+v, %v", records, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"step":1,"tokens":5,"train_loss":2.5,"event":"x"}` + "\n" + `{"step":2,"lr":null}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		records, err := Read(bytes.NewReader(text), "f")
		if err != nil {
			if format := (*FormatError)(nil); !errors.As(err, &format) {
				t.Fatalf("error %T: %v", err, err)
			}
			return
		}
		if len(records) > bytes.Count(text, []byte("\n")) {
			t.Fatalf("%d records in %d lines", len(records), bytes.Count(text, []byte("\n")))
		}
		for _, r := range records {
			if _, err := json.Marshal(r); err != nil {
				t.Fatal(err)
			}
		}
	})
}
