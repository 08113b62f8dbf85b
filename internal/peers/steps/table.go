package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// about is what the table is of.
type about struct {
	torch           string
	rounds, threads int
}

// table writes the results in Markdown.
func table(all []measured, a about) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s with %s, %s, %s; PyTorch %s; threads: %d; rounds: %d, in each of which the programs take turns.\n",
		machineText(), all[0].rounds[tinylm][0].ISA, runtime.Version(), time.Now().Format("2 January 2006"), a.torch, a.threads, a.rounds)
	fmt.Fprintf(&s, "Figures are medians over the rounds of each round's median step; the ratio is that of tokens/s to the faster of\n"+
		"PyTorch's two forms, with its least and greatest value in a round. Memory is the most that was resident, PyTorch's\n"+
		"that of the form that took less. `PYTHON=... make bench-peers`\n\n")
	head := []string{"shape", "dropout", "tinylm ms", "tokens/s", "GF/s", "of peak", "eager ms", "compiled ms", "ratio", "tinylm MB", "PyTorch MB", "ratio"}
	fmt.Fprintf(&s, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for i := range all {
		fmt.Fprintf(&s, "| %s |\n", strings.Join(all[i].row(), " | "))
	}
	return s.String()
}

func (m *measured) row() []string {
	ratios := m.ratios()
	ours, theirs := m.median(tinylm, resident), min(m.median(eager, resident), m.median(compiled, resident))
	return []string{
		m.shape, m.dropout,
		digits(m.median(tinylm, milliseconds)),
		strconv.FormatFloat(m.median(tinylm, func(x measurement) float64 { return x.TokensPerS }), 'f', 0, 64),
		strconv.FormatFloat(m.median(tinylm, func(x measurement) float64 { return x.GFLOPS }), 'f', 1, 64),
		fmt.Sprintf("%.1f%%", 100*m.median(tinylm, func(x measurement) float64 { return x.ShareOfPeak })),
		digits(m.median(eager, milliseconds)),
		digits(m.median(compiled, milliseconds)),
		fmt.Sprintf("%.2f (%.2f to %.2f)", middle(ratios), slices.Min(ratios), slices.Max(ratios)),
		fmt.Sprintf("%.0f", ours), fmt.Sprintf("%.0f", theirs), fmt.Sprintf("%.2f", ours/theirs),
	}
}

// digits is a time in ms.
func digits(ms float64) string {
	if ms < 100 {
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 0, 64)
}

// machineText names the processor, and how many there are.
func machineText() string {
	name := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range bytes.Lines(text) {
			if key, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "model name" {
				name = strings.TrimSpace(string(value))
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d processors", name, runtime.NumCPU())
}

// The table stands between these lines.
const (
	tableBegins = "<!-- make bench-peers writes from here -->\n"
	tableEnds   = "<!-- to here -->\n"
)

// replaceTable writes the text between the marks of a file.
func replaceTable(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(old), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: the lines %q and %q", path, tableBegins, tableEnds)
	}
	return os.WriteFile(path, []byte(before+tableBegins+"\n"+text+"\n"+tableEnds+after), 0o644)
}
