package generate

import (
	"math"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string // part of the error; "" for none
	}{
		{func(o *Options) {}, ""},
		{func(o *Options) { o.Temperature = 0 }, ""},
		{func(o *Options) { o.Temperature = 1e-40 }, ""},
		{func(o *Options) { o.Temperature = 2 }, ""},
		{func(o *Options) { o.Temperature = -1 }, "--temperature must be 0 (the most likely token) or more, got -1"},
		{func(o *Options) { o.Temperature = math.NaN() }, "--temperature must be 0 (the most likely token) or more, got NaN"},
		{func(o *Options) { o.Temperature = math.Inf(1) }, "--temperature must be finite, got +Inf"},
		{func(o *Options) { o.TopK = 0 }, ""},
		{func(o *Options) { o.TopK = 100000 }, ""},
		{func(o *Options) { o.TopK = -1 }, "--top-k must be 0 (off) or more, got -1"},
		{func(o *Options) { o.TopP = 1 }, ""},
		{func(o *Options) { o.TopP = 1.5 }, "--top-p must be between 0 and 1 (both: off), got 1.5"},
		{func(o *Options) { o.TopP = -0.1 }, "--top-p"},
		{func(o *Options) { o.TopP = math.NaN() }, "--top-p"},
		{func(o *Options) { o.MaxNewTokens = 0 }, "--max-new-tokens must be at least 1, got 0"},
		{func(o *Options) { o.Sample = -1 }, "sample"},
		{func(o *Options) { o.Seed = math.MinInt64 }, ""},
		{func(o *Options) { o.Stop = []string{"\n", ""} }, "--stop must not be empty"},
	} {
		o := Defaults()
		c.change(&o)
		err := o.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", o, err, c.want)
		}
	}
}
