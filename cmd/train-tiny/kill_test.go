//go:build unix

package main

import (
	"bufio"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// killed starts the command and kills it after so many lines about the run and its steps, and a while.
// It tells whether the command was still running.
func killed(t *testing.T, cmd *exec.Cmd, lines int, while time.Duration) bool {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(stderr); lines > 0 && s.Scan(); {
		if strings.HasPrefix(s.Text(), "run ") || strings.HasPrefix(s.Text(), "step ") {
			lines--
		}
	}
	time.Sleep(while)
	_ = cmd.Process.Kill() // it may have ended; Wait says so
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() > 0 {
		t.Fatalf("%q: %v", cmd.Args, cmd.ProcessState)
	}
	return !cmd.ProcessState.Exited()
}

// A run with a checkpoint at every step that is killed at any moments, and resumed after each, ends with
// the weights of one that was not.
func TestKilledRunResumes(t *testing.T) {
	dir := newRunDir(t)
	args := func(out, saves string) []string {
		return []string{"book.txt", "--config", "tiny.json", "--dropout", "0.1", "--max-iters", "40", "--log-interval", "1",
			"--eval-interval", "10", "--out-dir", out, "--save-interval", saves}
	}
	succeed(t, program(t, dir, args("straight", "0")...))
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, "killed", "checkpoints", name))
		return err == nil
	}
	again := func() *exec.Cmd {
		if !exists("latest") {
			return program(t, dir, append(args("killed", "1"), "--force")...) // killed before its first checkpoint
		}
		return program(t, dir, "--out-dir", "killed", "--resume")
	}
	kills := 0
	for range 6 {
		if exists("step-000040") {
			break
		}
		if killed(t, again(), 1+random.IntN(10), time.Duration(random.Int64N(int64(8*time.Millisecond)))) {
			kills++
		}
	}
	if kills == 0 {
		t.Fatal("the run ended before it could be killed")
	}
	if !exists("step-000040") {
		succeed(t, again())
	}
	sameWeights(t, 40, filepath.Join(dir, "straight"), filepath.Join(dir, "killed"))
}
