package metrics

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The keys of a line, by what encoding/json finds in it without our types.
func TestRecordKeys(t *testing.T) {
	r := NewRecord(250)
	r.Tokens, r.TrainLoss, r.ValLoss, r.LR, r.TokensPerS = 192_000, 1.25, math.NaN(), 1e-9, math.Inf(1)
	r.GradNorm = math.Inf(-1)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"step": 250.0, "tokens": 192000.0, "epoch": nil, "seconds": nil, "train_loss": 1.25, "val_loss": nil,
		"val_bpb": nil, "lr": 1e-9, "grad_norm": nil, "tokens_per_s": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	want := Record{Step: 1, Tokens: math.MaxInt64, Epoch: 1.0 / 3, Seconds: 1e-300, TrainLoss: 710, ValLoss: -0.5,
		ValBPB: math.MaxFloat64, LR: 3e-4, GradNorm: 0, TokensPerS: math.NaN(), Event: "a \"b\"\n\u2028"}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Record
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Values computed in float64 elsewhere: e^709.78 and the loss of a uniform guess among 65.
func TestPerplexity(t *testing.T) {
	for loss, want := range map[float64]float64{709.78: 1.79282279e308, 4.174387: 65.0000, 0: 1} {
		if got := Perplexity(loss); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("loss %v: perplexity %v, want %v", loss, got, want)
		}
	}
	if got := Perplexity(710); !math.IsInf(got, 1) {
		t.Errorf("loss 710: perplexity %v, want +Inf", got)
	}
	if got := Perplexity(math.NaN()); !math.IsNaN(got) {
		t.Errorf("loss NaN: perplexity %v", got)
	}
}

func TestBitsPerByte(t *testing.T) {
	for _, c := range []struct {
		loss          float64
		tokens, bytes int64
		want          float64
	}{
		{math.Log(256), 1000, 1000, 8}, // a uniform guess among bytes
		{math.Log(16), 500, 1000, 2},   // four bits for each token of two bytes
		{0, 10, 10, 0},
	} {
		if got := BitsPerByte(c.loss, c.tokens, c.bytes); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v nats, %d tokens, %d bytes: %v, want %v", c.loss, c.tokens, c.bytes, got, c.want)
		}
	}
}
