package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// benchCase is a shape with a dropout, and the steps to measure.
type benchCase struct {
	name, shape, dropout string
	steps                int
}

var cases = []benchCase{
	{"S", "S", "0", 100},
	{"M", "M", "0", 6},
	{"M-dropout", "M", "0.2", 6},
	{"L", "L", "0", 4},
}

// choose returns the cases of names parted by commas.
func choose(names string) ([]benchCase, error) {
	var chosen []benchCase
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(cases, func(c benchCase) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-cases: %q is not one of S, M, M-dropout, L", name)
		}
		chosen = append(chosen, cases[i])
	}
	return chosen, nil
}

// runner runs one program on a case.
type runner func(benchCase) (measurement, error)

func runners(binary, python string, threads int) [programs]runner {
	torch := func(more ...string) runner {
		return func(c benchCase) (measurement, error) {
			return line(exec.Command(python, append([]string{"internal/peers/torch_step.py", c.shape, "--dropout", c.dropout,
				"--threads", strconv.Itoa(threads), "--steps", strconv.Itoa(c.steps)}, more...)...), torchEnvironment(threads))
		}
	}
	return [programs]runner{
		tinylm: func(c benchCase) (measurement, error) {
			return line(exec.Command(binary, "bench", "step", "--json", "--shape", c.shape, "--dropout", c.dropout,
				"--threads", strconv.Itoa(threads), "--steps", strconv.Itoa(c.steps)), os.Environ())
		},
		eager:    torch(),
		compiled: torch("--compile"),
	}
}

// torchEnvironment is the environment that PyTorch was found to be fastest in, see torch_step.py: no choice of
// OpenBLAS kernels left over from elsewhere, and an allocator that keeps large blocks instead of handing them
// back and faulting them in again each step.
func torchEnvironment(threads int) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OPENBLAS_CORETYPE=") })
	return append(env, "OMP_NUM_THREADS="+strconv.Itoa(threads),
		"MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TRIM_THRESHOLD_=8589934592", "MALLOC_TOP_PAD_=268435456")
}

// line runs a command that prints one line of JSON.
func line(cmd *exec.Cmd, env []string) (measurement, error) {
	var m measurement
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			said = string(exit.Stderr)
		}
		return m, fmt.Errorf("%v: %w; it said %q", cmd.Args, err, said)
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return m, fmt.Errorf("%v printed %q: %w", cmd.Args, out, err)
	}
	if m.MsMedian <= 0 || m.RSSMB <= 0 {
		return m, fmt.Errorf("%v printed %q, without a time or the memory", cmd.Args, out)
	}
	return m, nil
}
