package main

import (
	"testing"
	"testing/fstest"
)

func TestAvailableMemory(t *testing.T) {
	const info = "MemTotal:       24683724 kB\nMemFree:        18123456 kB\nMemAvailable:   22779000 kB\nBuffers:          123456 kB\n"
	if free := availableMemory([]byte(info)); free != (freeMemory{22779000 * 1024, true}) {
		t.Errorf("%+v", free)
	}
	for _, text := range []string{"", "MemTotal: 5 kB\n", "MemAvailable: x kB\n", "MemAvailable: 5\n", "MemAvailable: 5 MB\n"} {
		if free := availableMemory([]byte(text)); free.known {
			t.Errorf("%q: %+v", text, free)
		}
	}
}

// Limits as both versions of control groups state them.
func TestContainerMemory(t *testing.T) {
	files := func(pairs ...string) fstest.MapFS {
		m := fstest.MapFS{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
		}
		return m
	}
	const stat2 = "anon 5\nfile 700\nactive_file 100\ninactive_file 600\n"
	const stat1 = "inactive_file 1\ntotal_rss 5\ntotal_inactive_file 600\n"
	for name, c := range map[string]struct {
		group fstest.MapFS
		want  freeMemory
	}{
		"none":             {files(), freeMemory{}},
		"second":           {files("memory.max", "10000\n", "memory.current", "2500\n", "memory.stat", stat2), freeMemory{8100, true}},
		"second, no limit": {files("memory.max", "max\n", "memory.current", "2500\n", "memory.stat", stat2), freeMemory{}},
		"second, full":     {files("memory.max", "1000\n", "memory.current", "2500\n", "memory.stat", stat2), freeMemory{0, true}},
		"second, torn":     {files("memory.max", "10000\n", "memory.current", "", "memory.stat", stat2), freeMemory{}},
		"first": {files("memory/memory.limit_in_bytes", "10000\n", "memory/memory.usage_in_bytes", "2500\n", "memory/memory.stat", stat1),
			freeMemory{8100, true}},
		"first, no limit": {files("memory/memory.limit_in_bytes", "9223372036854771712\n", "memory/memory.usage_in_bytes", "2500\n", "memory/memory.stat", stat1),
			freeMemory{9223372036854771712 - 1900, true}},
	} {
		if got := containerMemory(c.group); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	small, large, unknown := freeMemory{5, true}, freeMemory{9, true}, freeMemory{}
	for _, c := range [][3]freeMemory{{small, large, small}, {large, small, small}, {small, unknown, small}, {unknown, small, small}, {unknown, unknown, unknown}} {
		if got := c[0].less(c[1]); got != c[2] {
			t.Errorf("the lesser of %+v and %+v: %+v", c[0], c[1], got)
		}
	}
}
