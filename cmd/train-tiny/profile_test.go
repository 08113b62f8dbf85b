package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wantProfile checks that a file is a whole profile: compressed as pprof wants it, to the last checksum.
func wantProfile(t *testing.T, path string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(readFile(t, path)))
	if err == nil {
		_, err = io.Copy(io.Discard, z)
	}
	if err != nil {
		t.Errorf("%s is no whole profile: %v", filepath.Base(path), err)
	}
}

// wantTrace checks that a file begins as traces do.
func wantTrace(t *testing.T, path string) {
	t.Helper()
	if text := readFile(t, path); !bytes.HasPrefix(text, []byte("go 1.")) {
		t.Errorf("%s is no trace: %.20q", filepath.Base(path), text)
	}
}

// Profile and trace are written whether a command does its work or fails.
func TestProfileFiles(t *testing.T) {
	dir := newRunDir(t)
	config := []string{"--config", filepath.Join(dir, "tiny.json"), "--out-dir", filepath.Join(dir, "run")}
	for _, c := range []struct {
		args   []string
		status int
	}{
		{append([]string{filepath.Join(dir, "book.txt")}, config...), 0},
		{append([]string{filepath.Join(dir, "no.txt")}, config...), 1},
		{[]string{"inspect", filepath.Join(dir, "run")}, 0},
	} {
		cpu, trace := filepath.Join(dir, "cpu.prof"), filepath.Join(dir, "x.trace")
		status, _, stderr := withMemory(1e9, append(c.args, "--cpuprofile", cpu, "--trace", trace)...)
		if status != c.status {
			t.Errorf("%q: exit status %d\n%s", c.args, status, stderr)
		}
		wantProfile(t, cpu)
		wantTrace(t, trace)
		for _, path := range []string{cpu, trace} {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Where a file cannot be written, nothing else is done, and a second try finds no recording begun.
func TestProfileRefused(t *testing.T) {
	dir := newRunDir(t)
	path := filepath.Join(dir, "run")
	args := []string{filepath.Join(dir, "book.txt"), "--config", filepath.Join(dir, "tiny.json"), "--out-dir", path}
	missing := filepath.Join(dir, "no", "file")
	for _, c := range []struct {
		flags  []string
		status int
		want   string
	}{
		{[]string{"--cpuprofile", missing}, 1, "cannot write --cpuprofile " + missing + ": no such file or directory"},
		{[]string{"--cpuprofile", filepath.Join(dir, "p"), "--trace", missing}, 1, "cannot write --trace " + missing + ": no such file or directory"},
		{[]string{"--cpuprofile", filepath.Join(dir, "p"), "--trace", dir}, 1, "cannot write --trace " + dir + ": is a directory"},
		{[]string{"--cpuprofile", dir + "/p", "--trace", dir + "/./p"}, 2, "--cpuprofile and --trace are both " + dir + "/./p; name two files"},
	} {
		status, _, stderr := withMemory(1e9, append(args, c.flags...)...)
		if status != c.status || stderr != "train-tiny: "+c.want+"\n" {
			t.Errorf("%q: exit status %d\n%s", c.flags, status, stderr)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%q: the run's directory: %v, want none", c.flags, err)
		}
	}
	// What is neither profile nor trace is kept, even the text.
	for _, c := range []struct{ flag, kind string }{{"--cpuprofile", "profile"}, {"--trace", "trace"}} {
		status, _, stderr := withMemory(1e9, append(args, c.flag, args[0])...)
		want := "train-tiny: " + c.flag + " " + args[0] + " exists and is not an earlier " + c.kind + "; name another file, or remove this one\n"
		if status != 2 || stderr != want {
			t.Errorf("%s: exit status %d\n%s", c.flag, status, stderr)
		}
		if text := string(readFile(t, args[0])); text != book {
			t.Fatalf("%s: the text has become %.20q", c.flag, text)
		}
	}
	// Wrong usage leaves no file that was not there.
	unmade := filepath.Join(dir, "unmade")
	if status, _, _ := withMemory(1e9, append(args, "--max-iters", "0", "--cpuprofile", unmade)...); status != 2 {
		t.Errorf("exit status %d, want 2", status)
	}
	if _, err := os.Stat(unmade); !os.IsNotExist(err) {
		t.Errorf("after wrong usage: %v, want no file", err)
	}
	cpu := filepath.Join(dir, "cpu.prof")
	if status, _, stderr := withMemory(1e9, append(args, "--cpuprofile", cpu)...); status != 0 {
		t.Errorf("exit status %d\n%s", status, strings.TrimSpace(stderr))
	}
	wantProfile(t, cpu)
	if status, _, stderr := withMemory(1e9, "inspect", path, "--cpuprofile", cpu); status != 0 {
		t.Errorf("over an earlier profile: exit status %d\n%s", status, stderr)
	}
	wantProfile(t, cpu)
}
