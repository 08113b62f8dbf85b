package checkpoint

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"tinylm/data"
)

// stateVersion is the version of training.json that this package writes and reads.
const stateVersion = 1

// State is what a run needs, besides weights and moments, to go on to the bit: training.json.
// The learning rate and the dropout masks are functions of Step and the settings.
type State struct {
	Step    int     `json:"step"`    // steps done
	Tokens  int64   `json:"tokens"`  // trained on so far
	Epoch   float64 `json:"epoch"`   // passes over the training text so far
	Seconds float64 `json:"seconds"` // trained so far, pauses not counted
	Seed    int64   `json:"seed"`    // of initialisation, dropout and sampling

	Sampler data.SamplerState `json:"sampler"` // position in the training text

	// Losses in nats per token are NaN before the first evaluation, null in the file.
	ValLoss        float64 `json:"val_loss"`         // of the last evaluation
	BestValLoss    float64 `json:"best_val_loss"`    // the lowest
	BestStep       int     `json:"best_step"`        // where that was
	EvalsSinceBest int     `json:"evals_since_best"` // evaluations after it

	TextSHA256 string `json:"text_sha256"` // of the training text, lower-case hex
	TextBytes  int64  `json:"text_bytes"`

	MetricsBytes int64 `json:"metrics_bytes"` // length of metrics.jsonl at this step

	Settings map[string]string `json:"settings"` // every setting of the run, by the name of its flag
}

// stateFile is the layout of training.json: the version first, and a null for a loss not known yet.
type stateFile struct {
	Version int `json:"version"`
	*bareState
	ValLoss     *float64 `json:"val_loss"`
	BestValLoss *float64 `json:"best_val_loss"`
}

type bareState State

// FormatState returns s as training.json.
func FormatState(s *State) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	bare := bareState(*s)
	if bare.Settings == nil {
		bare.Settings = map[string]string{}
	}
	file := stateFile{Version: stateVersion, bareState: &bare}
	file.ValLoss, file.BestValLoss = known(s.ValLoss), known(s.BestValLoss)
	return marshalFile(file)
}

// known returns nil for NaN.
func known(loss float64) *float64 {
	if math.IsNaN(loss) {
		return nil
	}
	return &loss
}

// ParseState reads a training.json. Another version, a key that is missing, unknown or of another
// type, or a value that no run can have is a *FormatError that names file.
func ParseState(text []byte, file string) (*State, error) {
	if err := checkStateKeys(text); err != nil {
		return nil, formatError(file, "%v", err)
	}
	s := &State{ValLoss: math.NaN(), BestValLoss: math.NaN()}
	layout := stateFile{bareState: (*bareState)(s)}
	if err := json.Unmarshal(text, &layout); err != nil {
		return nil, formatError(file, "%s", jsonReason(err))
	}
	if layout.ValLoss != nil {
		s.ValLoss = *layout.ValLoss
	}
	if layout.BestValLoss != nil {
		s.BestValLoss = *layout.BestValLoss
	}
	if err := s.check(); err != nil {
		return nil, formatError(file, "%v", err)
	}
	return s, nil
}

// checkStateKeys checks the version, and that the keys are those of a stateFile, each once.
func checkStateKeys(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	values := map[string]json.RawMessage{}
	err := eachKey(dec, func(key string) error {
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		values[key] = value
		return nil
	})
	if err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows the JSON object")
	}
	if version := string(values["version"]); version != fmt.Sprint(stateVersion) {
		return fmt.Errorf("version %s is not the version %d that this program reads", orNone(version), stateVersion)
	}
	known, err := stateKeys()
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if values[key] == nil {
			return fmt.Errorf("%q is missing", key)
		}
		if string(values[key]) == "null" && key != "val_loss" && key != "best_val_loss" {
			return fmt.Errorf("%q is null", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if _, ok := known[key]; !ok {
			return fmt.Errorf("unknown key %q", key)
		}
	}
	return nil
}

// stateKeys returns the keys of training.json, read off the struct tags.
func stateKeys() (map[string]json.RawMessage, error) {
	text, err := json.Marshal(stateFile{bareState: &bareState{}})
	if err != nil {
		return nil, err
	}
	keys := map[string]json.RawMessage{}
	return keys, json.Unmarshal(text, &keys)
}

// check reports a value that no run can have.
func (s *State) check() error {
	switch {
	case s.Step < 0 || s.Tokens < 0 || s.TextBytes < 0 || s.MetricsBytes < 0:
		return fmt.Errorf("step %d, tokens %d, text_bytes %d and metrics_bytes %d must not be negative",
			s.Step, s.Tokens, s.TextBytes, s.MetricsBytes)
	case !(s.Epoch >= 0) || math.IsInf(s.Epoch, 0) || !(s.Seconds >= 0) || math.IsInf(s.Seconds, 0):
		return fmt.Errorf("epoch %v and seconds %v must be finite and not negative", s.Epoch, s.Seconds)
	case s.BestStep < 0 || s.BestStep > s.Step:
		return fmt.Errorf("best_step %d is not in 0 to step %d", s.BestStep, s.Step)
	case math.IsInf(s.ValLoss, 0) || math.IsInf(s.BestValLoss, 0):
		return fmt.Errorf("val_loss %v and best_val_loss %v must not be infinite", s.ValLoss, s.BestValLoss)
	case s.EvalsSinceBest < 0:
		return fmt.Errorf("evals_since_best %d must not be negative", s.EvalsSinceBest)
	}
	hash, err := hex.DecodeString(s.TextSHA256)
	if err != nil || len(hash) != 32 || strings.ToLower(s.TextSHA256) != s.TextSHA256 {
		return fmt.Errorf("text_sha256 %q is not 64 digits of lower-case hex", s.TextSHA256)
	}
	return nil
}

// DifferentSettings returns a line for each setting that differs between a saved run and now, such
// as "--n-embd was 128, now 256", sorted by name. Settings named in mayChange are left out.
func DifferentSettings(saved, now map[string]string, mayChange ...string) []string {
	names := maps.Clone(saved)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, now)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, wasSet := saved[name]
		value, isSet := now[name]
		if slices.Contains(mayChange, name) || (wasSet == isSet && old == value) {
			continue
		}
		lines = append(lines, fmt.Sprintf("--%s was %s, now %s", name, settingText(old, wasSet), settingText(value, isSet)))
	}
	return lines
}

func settingText(value string, set bool) string {
	if !set {
		return "not set"
	}
	return orNone(value)
}

// orNone makes an empty value visible in a message.
func orNone(s string) string {
	if s == "" {
		return `""`
	}
	return s
}
