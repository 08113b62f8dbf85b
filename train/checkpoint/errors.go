package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tinylm/data"
)

// FormatError reports a file that is damaged or is not what its name says.
type FormatError struct {
	File   string // path or name of the file
	Reason string
}

func (e *FormatError) Error() string { return e.File + ": " + e.Reason }

// formatError is a *FormatError with a formatted reason.
func formatError(file, format string, args ...any) error {
	return &FormatError{File: file, Reason: fmt.Sprintf(format, args...)}
}

// NonFiniteError reports a tensor that Save refused, because one of its values is NaN or infinite.
type NonFiniteError struct {
	Tensor string
	Index  int // of the first such value, in row-major order
	Value  float32
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("not saved: %s has the value %v at index %s", e.Tensor, e.Value, data.Thousands(e.Index))
}

// RunExistsError reports an output directory that already holds a run.
type RunExistsError struct {
	Dir  string
	Step int // of its newest checkpoint; -1 if it has none
}

func (e *RunExistsError) Error() string {
	if e.Step < 0 {
		return fmt.Sprintf("%s holds files of a run that has no checkpoint; start anew with --force, or name another --out-dir", e.Dir)
	}
	return fmt.Sprintf("%s holds a run of step %s; continue it with --resume, or name another --out-dir", e.Dir, data.Thousands(e.Step))
}

// jsonReason says in our words what encoding/json found wrong.
func jsonReason(err error) string {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		field := strings.TrimPrefix(typ.Field, "bareState.") // embedded, not in the file
		return fmt.Sprintf("%q cannot hold a %s, want %s", field, typ.Value, typ.Type)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("not JSON at byte %s: %v", data.Thousands(int(syntax.Offset)), err)
	}
	return err.Error()
}
