package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// layer is a set of settings given in one place, as text by name. The settings of a run are layers one
// upon the other: preset, checkpoint (when resuming), --config file, flags.
type layer struct {
	place  string // for errors; "" for flags
	values map[string]string
}

// apply puts a layer upon s. --epochs and --max-iters say the same thing: the upper layer counts.
func (s *settings) apply(l layer) error {
	epochs, hasEpochs := l.values["epochs"]
	if _, ok := l.values["max-iters"]; ok {
		if n, err := strconv.ParseFloat(epochs, 64); hasEpochs && (err != nil || n != 0) {
			return l.error(errors.New("--epochs and --max-iters are both given; leave one out"))
		}
		s.Train.Epochs = 0
	}
	for _, name := range sortedKeys(l.values) {
		if err := s.set(name, l.values[name]); err != nil {
			return l.error(err)
		}
	}
	return nil
}

func (l layer) error(err error) error {
	if l.place == "" {
		return usageError{err}
	}
	return usageError{fmt.Errorf("%s: %w", l.place, err)}
}

// resolve puts the layers together, the lowest first, above the preset that the uppermost of them names,
// or else size, and validates the result.
func resolve(size string, layers ...layer) (settings, error) {
	for _, l := range layers {
		if given, ok := l.values["size"]; ok {
			size = given
		}
	}
	s, err := presetSettings(size)
	if err != nil {
		return s, usageError{err}
	}
	for _, l := range layers {
		if err := s.apply(l); err != nil {
			return s, err
		}
	}
	if err := s.validate(); err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// flagLayer returns the settings that the command line gives.
func flagLayer(ctx *kong.Context) layer {
	names := settingNames()
	values := map[string]string{}
	for _, p := range ctx.Path {
		if p.Flag != nil && slices.Contains(names, p.Flag.Name) {
			values[p.Flag.Name] = fmt.Sprint(p.Flag.Target)
		}
	}
	return layer{values: values}
}

// fileLayer reads a --config file, a JSON object; no path gives no settings.
func fileLayer(path string) (layer, error) {
	if path == "" {
		return layer{}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
			err = cause.Err
		}
		return layer{}, usagef("cannot read --config %s: %w", path, err)
	}
	l := layer{place: path}
	if l.values, err = parseConfig(text); err != nil {
		return l, l.error(err)
	}
	return l, nil
}

// parseConfig returns the members of a JSON object of numbers, strings and booleans as text.
func parseConfig(text []byte) (map[string]string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return nil, fmt.Errorf("is not a JSON object with names of flags as keys: %w", orNotObject(err))
	}
	values := map[string]string{}
	for name, raw := range members {
		switch raw[0] {
		case '"':
			var s string
			if err := json.Unmarshal(raw, &s); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			values[name] = s
		case '{', '[', 'n':
			return nil, fmt.Errorf("%s must be a number, a string, true or false, not %s", name, raw)
		default:
			values[name] = string(raw)
		}
	}
	return values, nil
}

func orNotObject(err error) error {
	if err == nil {
		return errors.New("it is null")
	}
	return err
}

// MarshalJSON writes all settings as a --config file.
func (s settings) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	var failed error
	s.each(func(name string, p any) {
		if name == "max-iters" && s.Train.Epochs != 0 {
			return // --epochs says it, and the two do not go together
		}
		if d, ok := p.(*time.Duration); ok {
			text := d.String()
			p = &text
		}
		value, err := json.Marshal(p)
		failed = errors.Join(failed, err)
		b.WriteByte("{,"[min(b.Len(), 1)])
		fmt.Fprintf(&b, "%q:%s", name, value)
	})
	b.WriteByte('}')
	return b.Bytes(), failed
}

// file returns the settings as a --config file.
func (s settings) file() ([]byte, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}
