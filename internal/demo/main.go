// Command demo runs the README's first command in an empty directory and checks what is promised of it: it
// takes at most three minutes, the validation loss comes within 25% of the text's entropy, at least 80% of
// the words it writes are words of the sample, and no 60 characters in a row are copied from it.
//
// Usage: go run ./internal/demo [flags of train-tiny]
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"tinylm/data"
	"tinylm/train/metrics"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("demo: ", err)
	}
}

func run(flags []string) error {
	dir, err := os.MkdirTemp("", "tinylm-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "train-tiny")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/train-tiny").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	var text bytes.Buffer
	cmd := exec.Command(binary, flags...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &text, os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Println(text.String())

	records, err := metrics.ReadFile(filepath.Join(dir, "runs", "tales", "metrics.jsonl"))
	if err != nil {
		return err
	}
	sample := data.Sample()
	bpb := records[len(records)-1].ValBPB
	known, words := knownWords(text.String(), string(sample.Bytes))
	copied := longestCopy(text.String(), string(sample.Bytes))
	good := true
	verdict := func(ok bool, format string, args ...any) {
		good = good && ok
		fmt.Printf("%-5t %s\n", ok, fmt.Sprintf(format, args...))
	}
	verdict(took <= 3*time.Minute, "took %v, at most 3m", took.Round(time.Second))
	verdict(bpb <= 1.25*sample.ValidationBitsPerByte, "validation %.3f bits per byte, %.3f times the entropy %.3f; at most 1.25",
		bpb, bpb/sample.ValidationBitsPerByte, sample.ValidationBitsPerByte)
	verdict(10*known >= 8*words, "%d of %d words are the sample's, at least 80%%", known, words)
	verdict(copied < 60, "longest copy has %d characters, below 60", copied)
	if !good {
		return fmt.Errorf("a promise is broken")
	}
	return nil
}

// knownWords counts the words of text, and those of them that occur in sample.
func knownWords(text, sample string) (known, words int) {
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) })
	}
	in := map[string]bool{}
	for _, w := range split(sample) {
		in[w] = true
	}
	for _, w := range split(text) {
		words++
		if in[w] {
			known++
		}
	}
	return known, words
}

// longestCopy returns the length in bytes of the longest part of text that occurs in sample.
func longestCopy(text, sample string) int {
	longest := 0
	for at := range text {
		for at+longest < len(text) && strings.Contains(sample, text[at:at+longest+1]) {
			longest++
		}
	}
	return longest
}
