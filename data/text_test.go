package data

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoad(t *testing.T) {
	text, err := Load("testdata/t_10.txt")
	if err != nil {
		t.Fatal(err)
	}
	// sha256sum of "abcdefghij"
	want := Text{"t_10.txt", []byte("abcdefghij"), "72399361da6a7754fec986dca5b7cbaf1c810a28ded4abaf56b2106d06cb78b0"}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.txt")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{
		{filepath.Join(dir, "none.txt"), "cannot read " + filepath.Join(dir, "none.txt") + ": no such file or directory"},
		{filepath.Join(empty, "below.txt"), "cannot read " + filepath.Join(empty, "below.txt") + ": not a directory"},
		{dir, dir + " is a directory; name a text file in it"},
		{empty, empty + " is empty"},
	} {
		_, err := Load(test.path)
		if err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	if _, err := Load(filepath.Join(dir, "none.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

func TestSummarize(t *testing.T) {
	for _, test := range []struct {
		text string
		want Summary
	}{
		{"", Summary{UTF8: true}},
		{"ab\n", Summary{Bytes: 3, UTF8: true, Characters: 3, Lines: 1, LongestLine: 2}},
		{"ab\n\nab\n\nab\nçé中", Summary{Bytes: 18, UTF8: true, Characters: 6, Lines: 6, LongestLine: 3, Repeated: 0.5}},
		{"ab\xff\xff\nab", Summary{Bytes: 7, Characters: 4, Lines: 2, LongestLine: 4}},
		{"\n\n", Summary{Bytes: 2, UTF8: true, Characters: 1, Lines: 2}},
	} {
		if diff := cmp.Diff(test.want, Summarize([]byte(test.text))); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
	line := Summary{Bytes: 312_480, UTF8: true, Characters: 74, Lines: 5904, LongestLine: 118, Repeated: 0.031}.String()
	if want := "312,480 bytes, UTF-8, 74 characters, longest line 118; 5,904 lines, 3% repeated"; line != want {
		t.Errorf("got %q, want %q", line, want)
	}
	if line := (Summary{Bytes: 1, Characters: 1}).String(); !strings.Contains(line, "1 byte, not UTF-8, 1 byte value, ") {
		t.Errorf("got %q", line)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 10482: "10,482", 1234567: "1,234,567", -123: "-123", -1234: "-1,234"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: got %s", n, got)
		}
	}
}
