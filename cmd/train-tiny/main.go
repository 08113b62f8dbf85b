// Command train-tiny turns a text file into a small language model, and the model into text.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"tinylm/internal/device/cpu"
)

// cli is the command line: one field for each sub-command.
type cli struct {
	Train     trainCmd     `cmd:"" default:"withargs" help:"Train a model on a text (the default command)."`
	Generate  generateCmd  `cmd:"" help:"Write text with a model."`
	Eval      evalCmd      `cmd:"" help:"Measure a model's loss on a text."`
	Inspect   inspectCmd   `cmd:"" help:"Show a model: its configuration, parameters and graph."`
	Gradcheck gradcheckCmd `cmd:"" help:"Compare the gradients of all operators and of a small GPT with finite differences."`
	Bench     benchCmd     `cmd:"" help:"Measure speed: training steps, attention, matrix products, generation."`
	Version   versionCmd   `cmd:"" help:"Show the version."`

	Profile profileFlags `embed:"" group:"Profiling"`
}

// commands are the names of the sub-commands.
var commands = []string{"train", "generate", "eval", "inspect", "gradcheck", "bench", "version"}

const description = `Trains a small language model on a text file; with no file, on a built-in sample.
Results go to stdout, everything else to stderr.
The environment variable TINYLM_CPU chooses the kernels: avx512, avx2, neon or generic; else the fastest.
Exit status: 0 done, 1 failed, 2 wrong usage, 130 or 143 interrupted (training saves first).`

// streams is where a command writes, and what it knows of where it runs.
type streams struct {
	out, err io.Writer
	program  string      // how the user calls this program
	memory   *freeMemory // nil: as the system says
}

func main() {
	s := &streams{out: os.Stdout, err: os.Stderr, program: programName(os.Args[0])}
	os.Exit(run(os.Args[1:], s))
}

// run executes a command line and returns the exit status.
func run(args []string, s *streams) int {
	err := execute(args, s)
	if err != nil {
		if text := oneLine(err.Error()); text != "" {
			fmt.Fprintf(s.err, "train-tiny: %s\n", text)
		}
	}
	return exitStatus(err)
}

func execute(args []string, s *streams) error {
	var c cli
	parser, err := kong.New(&c, kong.Name("train-tiny"), kong.Description(description), generateDefaults(),
		kong.Writers(s.out, s.err), kong.KindMapper(reflect.String, kong.MapperFunc(rawString)), kong.PostBuild(placeHolders), kong.ValueFormatter(helpWithDefault),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return err
	}
	ctx, err := parser.Parse(joinNegative(usualWords(args)))
	if err != nil {
		return usageError{parseError(err, parser.Model)}
	}
	if err := cpu.Check(); err != nil {
		return usageError{err}
	}
	return c.Profile.around(ctx.Selected().Name, func() error { return ctx.Run(s) })
}

// usageError is a mistake on the command line or in a configuration file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// interruptedError ends a command that a signal stopped. What there is to say has been said.
type interruptedError struct{ signal int }

func (interruptedError) Error() string { return "" }

func exitStatus(err error) int {
	var interrupted interruptedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &interrupted):
		return 128 + interrupted.signal
	case errors.As(err, new(usageError)):
		return 2
	}
	return 1
}

// oneLine makes one line of a message, as joined errors have several.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
