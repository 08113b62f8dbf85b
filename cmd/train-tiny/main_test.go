package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"train-tiny": main, "report-memory": reportMemory})
}

// tinyJSON are settings of a model that trains in no time.
const tinyJSON = `{"n-layer": 1, "n-head": 2, "n-embd": 8, "block-size": 16, "batch-size": 4, "max-iters": 12,
	"warmup-iters": 2, "eval-interval": 6, "save-interval": 6, "log-interval": 4, "learning-rate": 0.01, "min-lr": 0.001}`

// book is a text of 3,300 bytes, and of 15 characters.
var book = strings.Repeat("the cat sat on the mat, so far.\n", 100) + strings.Repeat("a tame hen\n", 10)[:100]

// latin1 is a text that is not UTF-8, first at byte 3.
var latin1 = strings.Repeat("caf\xe9\n", 100)

// crlf is a text whose lines end with CR LF, and that holds escape codes.
var crlf = strings.Repeat("\x1b[31mred\x1b[0m cat\r\n", 200)

// TestScripts runs testdata/script. Each finds tiny.json and these texts in its directory; "status N command"
// runs a command that must end with exit status N.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "GOMAXPROCS=2")
			return errors.Join(
				os.WriteFile(filepath.Join(e.WorkDir, "tiny.json"), []byte(tinyJSON), 0o644),
				os.WriteFile(filepath.Join(e.WorkDir, "book.txt"), []byte(book), 0o644),
				os.WriteFile(filepath.Join(e.WorkDir, "latin1.txt"), []byte(latin1), 0o644),
				os.WriteFile(filepath.Join(e.WorkDir, "crlf.txt"), []byte(crlf), 0o644))
		},
		Condition: func(name string) (bool, error) {
			if name != "root" { // who may write everywhere
				return false, errors.New("unknown condition " + name)
			}
			return os.Getuid() == 0, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status},
	})
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
