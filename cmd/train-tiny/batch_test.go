package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A batch is a number or auto, on the command line and in a file, and is written as it is read.
func TestBatchSize(t *testing.T) {
	for _, text := range []string{"12", "1", "-3", "auto"} {
		var b batchSize
		if err := b.UnmarshalText([]byte(text)); err != nil || b.String() != text {
			t.Errorf("%s became %v, %v", text, b, err)
		}
		var s settings
		s.Batch.BatchSize = b
		values := must[map[string]string](t)(parseConfig(must[[]byte](t)(json.Marshal(s))))
		if values["batch-size"] != text || s.texts()["batch-size"] != text {
			t.Errorf("%s is %q in a file and %q in a checkpoint", text, values["batch-size"], s.texts()["batch-size"])
		}
	}
	for _, text := range []string{"", "x", "1.5", "Auto", "99999999999999999999"} {
		if err := new(batchSize).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "a whole number or auto") {
			t.Errorf("%q: error %v", text, err)
		}
	}
	if out := inProcess(t, "--batch-size", "auto", "--print-config"); !strings.Contains(out, `"batch-size": "auto"`) {
		t.Errorf("the settings are\n%s", out)
	}
}
