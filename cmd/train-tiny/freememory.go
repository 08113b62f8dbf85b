package main

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
)

// freeMemory is how much memory can be used without swapping.
type freeMemory struct {
	bytes int64
	known bool
}

// free asks the system, where it tells: the machine as a whole, and the container that this program may be in.
func (s *streams) free() freeMemory {
	if s.memory != nil {
		return *s.memory
	}
	machine := freeMemory{}
	if info, err := os.ReadFile("/proc/meminfo"); err == nil { // on Linux
		machine = availableMemory(info)
	}
	return machine.less(containerMemory(os.DirFS("/sys/fs/cgroup")))
}

// less returns the lesser of two amounts, or the one that is known.
func (m freeMemory) less(o freeMemory) freeMemory {
	if !m.known || o.known && o.bytes < m.bytes {
		return o
	}
	return m
}

// availableMemory reads the bytes that can be used without swapping from the text of /proc/meminfo.
func availableMemory(info []byte) freeMemory {
	for line := range bytes.Lines(info) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "MemAvailable:" && string(f[2]) == "kB" {
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			return freeMemory{bytes: n * 1024, known: err == nil}
		}
	}
	return freeMemory{}
}

// containerMemory reads what a control group's limit leaves, from the files that Linux has about the group, by
// the second version of control groups or the first. Copies of files count as free: they give way.
func containerMemory(group fs.FS) freeMemory {
	for _, names := range []struct{ limit, used, stat, files string }{
		{"memory.max", "memory.current", "memory.stat", "inactive_file"},
		{"memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"},
	} {
		limit, ok := groupNumber(group, names.limit, "")
		used, ok2 := groupNumber(group, names.used, "")
		files, ok3 := groupNumber(group, names.stat, names.files)
		if ok && ok2 && ok3 {
			return freeMemory{bytes: max(0, limit-used+files), known: true}
		}
	}
	return freeMemory{}
}

// groupNumber reads a file that is one number, or the number after a key.
func groupNumber(group fs.FS, name, key string) (int64, bool) {
	text, err := fs.ReadFile(group, name)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if key != "" && (len(f) != 2 || string(f[0]) != key) || len(f) == 0 {
			continue
		}
		n, err := strconv.ParseInt(string(f[len(f)-1]), 10, 64) // not "max", which is no limit
		return n, err == nil
	}
	return 0, false
}
