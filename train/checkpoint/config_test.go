package checkpoint

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tinylm/layers"
)

// What Hugging Face's GPT2Config must find for a small model, key by key.
func TestFormatConfigKeys(t *testing.T) {
	text, err := FormatConfig(layers.Config{Layers: 2, Heads: 4, Width: 32, Context: 16, Vocab: 65, Dropout: 0.1}, 64)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model_type": "gpt2", "architectures": []any{"GPT2LMHeadModel"},
		"vocab_size": 65.0, "n_positions": 16.0, "n_ctx": 16.0, "n_embd": 32.0, "n_layer": 2.0, "n_head": 4.0, "n_inner": nil,
		"activation_function": "gelu_new", "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1,
		"layer_norm_epsilon": 1e-5, "initializer_range": 0.02, "scale_attn_weights": true, "use_cache": true,
		"scale_attn_by_inverse_layer_idx": false, "reorder_and_upcast_attn": false, "tie_word_embeddings": true,
		"torch_dtype": "float32", "bos_token_id": 64.0, "eos_token_id": 64.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConfigRoundTrip(t *testing.T) {
	for _, want := range []layers.Config{
		{Layers: 1, Heads: 1, Width: 1, Context: 1, Vocab: 2},
		{Layers: 3, Heads: 2, Width: 8, Context: 64, Vocab: 300, Inner: 20, Activation: layers.GELUExact, Dropout: 0.3},
		{Layers: 3, Heads: 2, Width: 8, Context: 64, Vocab: 300, Activation: layers.ReLU, NoBias: true, Untied: true,
			Epsilon: 1e-6, Init: layers.InitFanIn},
	} {
		text, err := FormatConfig(want, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, eot, err := ParseConfig(text, "config.json")
		if diff := cmp.Diff(want.WithDefaults(), got); diff != "" || eot != 1 || err != nil {
			t.Errorf("end of text %d, error %v, -want +got:\n%s", eot, err, diff)
		}
	}
	if _, err := FormatConfig(layers.Config{Layers: 1, Heads: 1, Width: 1, Context: 1, Vocab: 65}, 65); err == nil {
		t.Error("an end-of-text id outside the vocabulary was written")
	}
}

// A file of the library whose values the reference tests use, and one as old versions wrote it.
func TestParseConfigOfOthers(t *testing.T) {
	text, err := os.ReadFile("testdata/gpt2_config.json")
	if err != nil {
		t.Fatal(err)
	}
	want := layers.Config{Layers: 2, Heads: 4, Width: 32, Context: 16, Vocab: 65, Inner: 128,
		Activation: layers.GELUTanh, Epsilon: 1e-5, Init: layers.InitGPT2}
	got, eot, err := ParseConfig(text, "config.json")
	if diff := cmp.Diff(want, got); diff != "" || eot != 0 || err != nil {
		t.Errorf("end of text %d, error %v, -want +got:\n%s", eot, err, diff)
	}
	old := `{"model_type":"gpt2","vocab_size":65,"n_ctx":16,"n_embd":32,"n_layer":2,"n_head":4,"summary_type":"cls_index"}`
	want.Dropout = 0.1 // GPT2Config's default
	got, eot, err = ParseConfig([]byte(old), "config.json")
	if diff := cmp.Diff(want, got); diff != "" || eot != -1 || err != nil {
		t.Errorf("end of text %d, error %v, -want +got:\n%s", eot, err, diff)
	}
}

func TestParseConfigRefuses(t *testing.T) {
	base := map[string]any{"model_type": "gpt2", "vocab_size": 65, "n_positions": 16, "n_embd": 32, "n_layer": 2, "n_head": 4}
	for _, c := range []struct {
		key   string
		value any
		want  string // in the message
	}{
		{"model_type", "llama", `"llama"`},
		{"vocab_size", "65", `"vocab_size" cannot hold a string`},
		{"vocab_size", 65.5, `"vocab_size" cannot hold a number 65.5`},
		{"vocab_size", 1, "vocabulary"},
		{"vocab_size", int64(math.MaxInt32) + 1, "vocab_size is 2147483648"},
		{"n_positions", 0, "n_positions is 0"},
		{"n_ctx", 8, "n_positions is 16 but n_ctx 8"},
		{"n_embd", 30, "30 is not divisible by --n-head 4"},
		{"n_layer", -1, "n_layer is -1"},
		{"n_head", nil, "n_head is 0"},
		{"n_inner", -4, "n_inner is -4"},
		{"activation_function", "silu", `"silu"`},
		{"attn_pdrop", 0.2, "differ"},
		{"layer_norm_epsilon", 0, "layer_norm_epsilon is 0"},
		{"scale_attn_weights", false, "not scaled"},
		{"scale_attn_by_inverse_layer_idx", true, "not scaled"},
		{"eos_token_id", 65, "end-of-text id 65"},
		{"eos_token_id", -1, "end-of-text id -1"},
		{"eos_token_id", []int{1, 2}, `"eos_token_id" cannot hold a array`},
		{"tinylm_init", "zero", `"zero"`},
	} {
		changed := map[string]any{}
		for k, v := range base {
			changed[k] = v
		}
		changed[c.key] = c.value
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ParseConfig(text, "dir/config.json")
		var format *FormatError
		if !errors.As(err, &format) || format.File != "dir/config.json" || !strings.Contains(format.Reason, c.want) {
			t.Errorf("%s %v: error %v, want a *FormatError with %s", c.key, c.value, err, c.want)
		}
	}
	for _, text := range []string{"", "{", "null", "[]", "{}", `{"model_type":"gpt2"} {}`} {
		_, _, err := ParseConfig([]byte(text), "config.json")
		if format := (*FormatError)(nil); !errors.As(err, &format) {
			t.Errorf("%q: error %v, want a *FormatError", text, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	text, err := os.ReadFile("testdata/gpt2_config.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"model_type":"gpt2","vocab_size":3,"n_ctx":16,"n_embd":4,"n_layer":2,"n_head":2,"bias":false,"eos_token_id":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, eot, err := ParseConfig(text, "f")
		if err != nil {
			if format := (*FormatError)(nil); !errors.As(err, &format) {
				t.Fatalf("error %T: %v", err, err)
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		again, err := FormatConfig(c, max(eot, 0))
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err := ParseConfig(again, "f"); err != nil || back != c {
			t.Fatalf("read %+v, written and read %+v, %v", c, back, err)
		}
	})
}
