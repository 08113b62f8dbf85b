package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// twoRounds is a case of two rounds: tinylm takes 10 and 20 ms, eager 30 and 60, compiled 40 and 30.
func twoRounds() measured {
	m := measured{benchCase: cases[0]}
	for i, ms := range [programs][2]float64{{10, 20}, {30, 60}, {40, 30}} {
		for _, x := range ms {
			m.rounds[i] = append(m.rounds[i], measurement{MsMedian: x, TokensPerS: 7680 / x, GFLOPS: 1000 / x, ShareOfPeak: 2 / x, RSSMB: float64(100 * (i + 1)), ISA: "avx512"})
		}
	}
	return m
}

// The medians are 15, 45 and 35 ms, so that compiled is the faster form: 4 and 1.5 times as slow as tinylm.
func TestRow(t *testing.T) {
	m := twoRounds()
	want := "S | 0 | 15.0 | 576 | 75.0 | 15.0% | 45.0 | 35.0 | 2.75 (1.50 to 4.00) | 100 | 200 | 0.50"
	if got := strings.Join(m.row(), " | "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReplaceTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.md")
	if err := os.WriteFile(path, []byte("before\n"+tableBegins+"old\n"+tableEnds+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := table([]measured{twoRounds()}, about{torch: "2.15.0", rounds: 2, threads: 2})
	for range 2 { // the second time what the first one wrote
		if err := replaceTable(path, text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + tableBegins + "\n" + text + "\n" + tableEnds + "after\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(text, "avx512") || !strings.Contains(text, "PyTorch 2.15.0; threads: 2; rounds: 2") {
		t.Errorf("the table says %q", text)
	}
	if err := os.WriteFile(path, []byte("no marks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := replaceTable(path, text); err == nil || !strings.Contains(err.Error(), "no place for the table") {
		t.Errorf("error %v for a file without marks", err)
	}
}

// The file of results has its place for the table.
func TestResultsHaveMarks(t *testing.T) {
	text, err := os.ReadFile("../../../" + results)
	if err != nil {
		t.Fatal(err)
	}
	begins, ends := strings.Index(string(text), tableBegins), strings.Index(string(text), tableEnds)
	if begins < 0 || ends < begins {
		t.Errorf("%s has the marks at %d and %d", results, begins, ends)
	}
}

// Programs take turns: each round begins with another.
func TestMeasure(t *testing.T) {
	var order []int
	var run [programs]runner
	for i := range run {
		run[i] = func(c benchCase) (measurement, error) {
			order = append(order, i)
			return measurement{MsMedian: 1, RSSMB: 1}, nil
		}
	}
	all, err := measure(cases[:1], 3, run)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := order, []int{0, 1, 2, 1, 2, 0, 2, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("programs ran in the order %v, want %v", got, want)
	}
	for i, r := range all[0].rounds {
		if len(r) != 3 {
			t.Errorf("program %d has %d measurements, want 3", i, len(r))
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := choose("S,XL"); err == nil || err.Error() != `-cases: "XL" is not one of S, M, M-dropout, L` {
		t.Errorf("error %v for an unknown case", err)
	}
	if err := run(0, "S", 2, false); err == nil || !strings.Contains(err.Error(), "at least 1") {
		t.Errorf("error %v for no rounds", err)
	}
	dir := t.TempDir()
	python := filepath.Join(dir, "python")
	script := "#!/bin/sh\necho Traceback >&2\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n"
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	want := python + " has no PyTorch (ModuleNotFoundError: No module named 'torch'); install it"
	if _, err := torchVersion(python); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := torchVersion(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v without an interpreter", err)
	}
}
