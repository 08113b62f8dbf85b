package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

var word = regexp.MustCompile(`\tWORD \$(0x[0-9a-f]{8}) // (.*)\n`)

// TestWords disassembles the instructions that are written as words: each is what its comment says.
func TestWords(t *testing.T) {
	dir, words := t.TempDir(), 0
	for _, f := range families {
		if f.arm64 == nil {
			continue
		}
		base := filepath.Join(dir, f.name)
		if err := writeNEON(base, f.arm64); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(base + ".s")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range word.FindAllStringSubmatch(string(text), -1) {
			bits, err := strconv.ParseUint(m[1], 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			words++
			i, err := arm64asm.Decode(binary.LittleEndian.AppendUint32(nil, uint32(bits)))
			if err != nil {
				t.Errorf("%s: %s (%s): %v", f.name, m[1], m[2], err)
			} else if got := arm64asm.GNUSyntax(i); got != m[2] {
				t.Errorf("%s: %s is %q, its comment says %q", f.name, m[1], got, m[2])
			}
		}
	}
	if words == 0 {
		t.Error("no words found")
	}
}
