// Command steps times the training step of train-tiny and of PyTorch, eager and compiled, on the same shapes
// in one run, taking turns, and writes the table into docs/results.md. ../torch_step.py is PyTorch's step.
//
// Usage: go run ./internal/peers/steps [-rounds N] [-cases S,M,M-dropout,L] [-threads N] [-write=false]
//
// The environment variable PYTHON names the interpreter, python3 unless set.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// results is the file that the table is written into.
const results = "docs/results.md"

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench-peers: ")
	rounds := flag.Int("rounds", 3, "times that everything is measured")
	names := flag.String("cases", "S,M,M-dropout,L", "what is measured")
	threads := flag.Int("threads", 2, "of each program")
	write := flag.Bool("write", true, "write the table into "+results+" too")
	flag.Parse()
	if err := run(*rounds, *names, *threads, *write); err != nil {
		log.Fatal(err)
	}
}

func run(rounds int, names string, threads int, write bool) error {
	if rounds < 1 || threads < 1 {
		return fmt.Errorf("-rounds and -threads must be at least 1, got %d and %d", rounds, threads)
	}
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	python := cmp.Or(os.Getenv("PYTHON"), "python3")
	version, err := torchVersion(python)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tinylm-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "train-tiny")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/train-tiny").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	all, err := measure(chosen, rounds, runners(binary, python, threads))
	if err != nil {
		return err
	}
	text := table(all, about{torch: version, rounds: rounds, threads: threads})
	fmt.Print(text)
	if !write {
		return nil
	}
	return replaceTable(results, text)
}

// torchVersion returns the version of the interpreter's PyTorch.
func torchVersion(python string) (string, error) {
	out, err := exec.Command(python, "-c", "import torch; print(torch.__version__)").Output()
	if err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	reason := err.Error()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		reason = lines[len(lines)-1]
	}
	return "", fmt.Errorf("%s has no PyTorch (%s); install it with pip install torch, or name another interpreter in the variable PYTHON", python, reason)
}

// measurement is what one program takes for one case: a line that it prints.
type measurement struct {
	MsMedian    float64 `json:"ms_median"`
	TokensPerS  float64 `json:"tokens_per_s"`
	GFLOPS      float64 `json:"gflops"`
	ShareOfPeak float64 `json:"share_of_peak"` // tinylm's line alone has it
	RSSMB       float64 `json:"rss_mb"`
	ISA         string  `json:"isa"`
}

// measured are the measurements of a case, by program and round.
type measured struct {
	benchCase
	rounds [programs][]measurement
}

// The programs that are compared.
const (
	tinylm = iota
	eager
	compiled
	programs
)

// measure runs every program on every case, once a round. Each round begins with another program, so that
// none always runs on a warmer machine.
func measure(cases []benchCase, rounds int, run [programs]runner) ([]measured, error) {
	all := make([]measured, len(cases))
	for i, c := range cases {
		all[i].benchCase = c
	}
	for round := range rounds {
		for i := range all {
			c := &all[i]
			for turn := range programs {
				program := (turn + round) % programs
				m, err := run[program](c.benchCase)
				if err != nil {
					return nil, err
				}
				c.rounds[program] = append(c.rounds[program], m)
				log.Printf("round %d/%d  %-10s %-9s %9.2f ms %5.0f MB", round+1, rounds, c.name,
					[...]string{"tinylm", "eager", "compiled"}[program], m.MsMedian, m.RSSMB)
			}
		}
	}
	return all, nil
}

// better is PyTorch's faster form in a case, by the medians.
func (m *measured) better() int {
	if m.median(compiled, milliseconds) < m.median(eager, milliseconds) {
		return compiled
	}
	return eager
}

func milliseconds(m measurement) float64 { return m.MsMedian }
func resident(m measurement) float64     { return m.RSSMB }

// median is the middle of a program's figures.
func (m *measured) median(program int, figure func(measurement) float64) float64 {
	var all []float64
	for _, r := range m.rounds[program] {
		all = append(all, figure(r))
	}
	return middle(all)
}

// ratios are how many times faster tinylm was than PyTorch's faster form, round by round.
func (m *measured) ratios() []float64 {
	var all []float64
	for i, r := range m.rounds[m.better()] {
		all = append(all, r.MsMedian/m.rounds[tinylm][i].MsMedian)
	}
	return all
}

func middle(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
