//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// interrupted starts the command, sends the signal when its stderr shows a line that begins with when, and
// returns the exit status and all of stderr.
func interrupted(t *testing.T, cmd *exec.Cmd, when string, signal syscall.Signal) (int, string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stderr = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	sent := false
	for lines := bufio.NewScanner(r); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if !sent && strings.HasPrefix(lines.Text(), when) {
			sent = true
			if err := cmd.Process.Signal(signal); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // ProcessState says it all
	if !sent {
		t.Fatalf("no line began with %q:\n%s", when, all.String())
	}
	return cmd.ProcessState.ExitCode(), all.String()
}

// A run that was interrupted twice and resumed by the commands it printed has, to the bit, the weights and
// losses of one that was not. The lines of all steps are more than a pipe holds, twice over: a run whose
// lines are not read cannot end before its signal arrives.
func TestInterruptedRunResumes(t *testing.T) {
	dir := newRunDir(t)
	args := func(out string) []string {
		return []string{"book.txt", "--config", "tiny.json", "--out-dir", out, "--max-iters", "2000", "--dropout", "0.1",
			"--save-interval", "0", "--eval-interval", "500", "--log-interval", "1"}
	}
	succeed(t, program(t, dir, args("straight")...))
	next := regexp.MustCompile(`(?m)^go on with:  train-tiny (.*)$`)
	for i, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := program(t, dir, args("halting")...)
		if i > 0 {
			cmd = program(t, dir, "book.txt", "--out-dir", "halting", "--resume")
		}
		status, stderr := interrupted(t, cmd, "step ", signal)
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
	succeed(t, program(t, dir, "book.txt", "--out-dir", "halting", "--resume"))
	straight, halting := filepath.Join(dir, "straight"), filepath.Join(dir, "halting")
	sameWeights(t, 2000, straight, halting)
	want, got := losses(t, "train", straight), losses(t, "train", halting)
	if len(want) < 2000 {
		t.Errorf("%d losses were recorded", len(want))
	}
	for step, loss := range want {
		if got[step] != loss {
			t.Errorf("step %d: loss %v, want %v", step, got[step], loss)
		}
	}
}

// Interrupted before the first step, here by the line of the plan that comes before the measurement, a run
// leaves nothing behind.
func TestInterruptedBeforeTheFirstStep(t *testing.T) {
	dir := newRunDir(t)
	file := must[layer](t)(fileLayer(filepath.Join(dir, "tiny.json")))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var stderr, stdout strings.Builder
	j := &job{path: filepath.Join(dir, "book.txt")}
	j.settings = must[settings](t)(resolve(defaultSize, file, layer{values: map[string]string{"out-dir": filepath.Join(dir, "run")}}))
	j.streams = &streams{out: &stdout, err: writerFunc(func(text string) {
		stderr.WriteString(text)
		if strings.HasPrefix(text, "training ") {
			cancel(interruptedError{int(syscall.SIGINT)})
		}
	})}
	if status := exitStatus(j.trainUntil(ctx)); status != 130 || !strings.HasSuffix(stderr.String(), "\nstopped before the first step; nothing was written\n") {
		t.Errorf("exit status %d:\n%s", status, stderr.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); !os.IsNotExist(err) || stdout.Len() > 0 {
		t.Errorf("the run's directory: %v, want none; stdout %q", err, stdout.String())
	}
}

// The first signal cancels, with its number; the second one does not wait for the end of a step.
func TestSecondSignalExitsAtOnce(t *testing.T) {
	signals, exits := make(chan os.Signal), make(chan int)
	ctx, cancel := context.WithCancelCause(context.Background())
	var stderr strings.Builder
	ended := make(chan bool)
	go func() {
		obey(signals, &stderr, cancel, func(status int) { exits <- status })
		close(ended)
	}()
	signals <- syscall.SIGTERM
	<-ctx.Done()
	if status := exitStatus(interruption(ctx)); status != 143 || stderr.String() != "\nstopping after this step ...\n" {
		t.Errorf("after SIGTERM the exit status is %d, and stderr %q", status, stderr.String())
	}
	signals <- syscall.SIGINT
	if status := <-exits; status != 130 {
		t.Errorf("the second signal exits with status %d, want 130", status)
	}
	close(signals)
	<-ended
}

// An interrupted command completes its profile: training after its step, any other at once.
func TestInterruptedProfile(t *testing.T) {
	dir := newRunDir(t)
	path := filepath.Join(dir, "cpu.prof")
	status, stderr := interrupted(t, program(t, dir, "book.txt", "--config", "tiny.json", "--out-dir", "run", "--max-iters", "100000",
		"--cpuprofile", path, "--log-interval", "1"), "step ", syscall.SIGTERM)
	if status != 143 {
		t.Fatalf("exit status %d\n%s", status, stderr)
	}
	wantProfile(t, path)

	trained(t, dir, "done") // whose likeliest text does not end
	cmd := program(t, dir, "generate", "done", "--max-new-tokens", "100000000", "--temperature", "0", "--cpuprofile", path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // ProcessState says it all
	if status := cmd.ProcessState.ExitCode(); status != 130 {
		t.Errorf("generate: exit status %d, want 130", status)
	}
	wantProfile(t, path)
}
