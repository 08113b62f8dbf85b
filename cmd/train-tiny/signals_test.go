//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// program is this command as another process: TestMain runs it when it is called by its name.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Path: self, Args: append([]string{"train-tiny"}, args...), Dir: dir, Env: append(os.Environ(), "GOMAXPROCS=2")}
}

// interrupted starts the command, sends the signals when its stderr shows a line that begins with the
// text beside each, and returns the exit status and all of stderr.
func interrupted(t *testing.T, cmd *exec.Cmd, when []string, signals []syscall.Signal) (int, string) {
	t.Helper()
	r, w := io.Pipe()
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // ProcessState says it all
		w.Close()
	}()
	var all strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if len(when) > 0 && strings.HasPrefix(lines.Text(), when[0]) {
			if err := cmd.Process.Signal(signals[0]); err != nil {
				t.Error(err)
			}
			when, signals = when[1:], signals[1:]
		}
	}
	if len(when) > 0 {
		t.Fatalf("no line began with %q:\n%s", when[0], all.String())
	}
	return cmd.ProcessState.ExitCode(), all.String()
}

// newRunDir returns a directory with tiny.json and book.txt.
func newRunDir(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{"tiny.json": tinyJSON, "book.txt": book} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A run that was interrupted twice and resumed by the commands it printed has, to the bit, the weights and
// losses of one that was not.
func TestInterruptedRunResumes(t *testing.T) {
	dir := newRunDir(t)
	settings := []string{"--max-iters", "1500", "--dropout", "0.1", "--save-interval", "0", "--eval-interval", "300", "--log-interval", "50"}
	args := func(out string) []string {
		return append([]string{"book.txt", "--config", "tiny.json", "--out-dir", out}, settings...)
	}
	if out, err := program(t, dir, args("straight")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	next := regexp.MustCompile(`(?m)^go on with:  train-tiny (.*)$`)
	for i, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := program(t, dir, args("halting")...)
		if i > 0 {
			cmd = program(t, dir, "book.txt", "--out-dir", "halting", "--resume")
		}
		status, stderr := interrupted(t, cmd, []string{"step "}, []syscall.Signal{signal})
		if want := 128 + int(signal); status != want {
			t.Fatalf("exit status %d, want %d:\n%s", status, want, stderr)
		}
		if !strings.Contains(stderr, "\nstopping after this step ...\n") || !regexp.MustCompile(`\nsaved halting/checkpoints/step-\d{6} in `).MatchString(stderr) {
			t.Errorf("stderr does not say what was saved:\n%s", stderr)
		}
		if m := next.FindStringSubmatch(stderr); m == nil || m[1] != "book.txt --out-dir halting --resume" {
			t.Errorf("stderr does not say how to go on: %v\n%s", m, stderr)
		}
	}
	if out, err := program(t, dir, "book.txt", "--out-dir", "halting", "--resume").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"model.safetensors", "training.safetensors"} {
		name = filepath.Join("checkpoints", "step-001500", name)
		if !bytes.Equal(readFile(t, dir, "straight", name), readFile(t, dir, "halting", name)) {
			t.Errorf("%s differs between a straight run and an interrupted one", name)
		}
	}
	straight, halting := losses(t, dir, "straight"), losses(t, dir, "halting")
	if len(straight) < 30 {
		t.Errorf("%d losses were recorded", len(straight))
	}
	for step, want := range straight {
		if halting[step] != want {
			t.Errorf("step %s: loss %s, want %s", step, halting[step], want)
		}
	}
}

// losses returns the training losses in a run's record, as text, by step.
func losses(t *testing.T, dir, run string) map[string]string {
	all := map[string]string{}
	line := regexp.MustCompile(`"step":(\d+).*"train_loss":([0-9.e-]+)`)
	for _, m := range line.FindAllStringSubmatch(string(readFile(t, dir, run, "metrics.jsonl")), -1) {
		all[m[1]] = m[2]
	}
	return all
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// slow are settings whose steps take long enough for two signals.
var slow = []string{"book.txt", "--n-layer", "4", "--n-embd", "64", "--out-dir", "slow"}

// Interrupted before the first step, a run leaves nothing behind.
func TestInterruptedBeforeTheFirstStep(t *testing.T) {
	dir := newRunDir(t)
	status, stderr := interrupted(t, program(t, dir, slow...), []string{"training "}, []syscall.Signal{syscall.SIGINT})
	if status != 130 || !strings.Contains(stderr, "\nstopped before the first step; nothing was written\n") {
		t.Errorf("exit status %d:\n%s", status, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "slow")); !os.IsNotExist(err) {
		t.Errorf("the run's directory: %v, want none", err)
	}
}

// The second signal does not wait for the end of a step.
func TestSecondSignalExitsAtOnce(t *testing.T) {
	status, stderr := interrupted(t, program(t, newRunDir(t), slow...),
		[]string{"training ", "stopping after this step"}, []syscall.Signal{syscall.SIGINT, syscall.SIGINT})
	if status != 130 || strings.Contains(stderr, "stopped before") {
		t.Errorf("exit status %d:\n%s", status, stderr)
	}
}
