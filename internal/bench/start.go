package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tinylm/data"
)

// StartResult is how long a training takes to begin: from the start of the process to the end of its first
// step, everything before that included (reading the text, the plan, the checkpoint of step 0).
type StartResult struct {
	Runs      int     `json:"runs"`
	TextBytes int     `json:"text_bytes"`
	MsBest    float64 `json:"ms_best"`
	MsMedian  float64 `json:"ms_median"`
	BinaryMB  float64 `json:"binary_mb"`
}

// startBytes is the length of the text that is trained on.
const startBytes = 500_000

// Start runs the command, with its own defaults, on a text of 500 KB for two steps, several times, and reads
// the clock when its line about step 1 arrives.
func Start(command string, runs int) (StartResult, error) {
	r := StartResult{Runs: runs, TextBytes: startBytes}
	info, err := os.Stat(command)
	if err != nil {
		return r, err
	}
	r.BinaryMB = megabytes(info.Size())
	dir, err := os.MkdirTemp("", "tinylm-start-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	sample := data.Sample().Bytes
	text := bytes.Repeat(sample, startBytes/len(sample)+1)[:startBytes]
	if err := os.WriteFile(filepath.Join(dir, "text.txt"), text, 0o644); err != nil {
		return r, err
	}
	var times []time.Duration
	for range runs {
		t, err := startOnce(command, dir)
		if err != nil {
			return r, err
		}
		times = append(times, t)
	}
	r.MsBest, r.MsMedian = milliseconds(slices.Min(times)), milliseconds(median(times))
	return r, nil
}

// startOnce returns the time from the start of the process to its line about step 1.
func startOnce(command, dir string) (took time.Duration, err error) {
	cmd := &exec.Cmd{Path: command, Dir: dir, Args: []string{"train-tiny", "text.txt", "--max-iters", "2", "--log-interval", "1"}}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var said strings.Builder
	lines := bufio.NewScanner(io.TeeReader(stderr, &said))
	for took == 0 && lines.Scan() {
		if strings.HasPrefix(lines.Text(), "step 1/2 ") {
			took = time.Since(began)
		}
	}
	if _, err := io.Copy(&said, stderr); err != nil {
		return 0, err
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%v: %w; it said %q", cmd.Args, err, said.String())
	}
	if took == 0 {
		return 0, fmt.Errorf("%v did not report step 1; it said %q", cmd.Args, said.String())
	}
	return took, nil
}
