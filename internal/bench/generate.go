package bench

import (
	"time"

	"tinylm/data"
	"tinylm/internal/device/cpu"
	"tinylm/layers"
	"tinylm/train/generate"
)

// GenerateResult is what a new token takes at a position of the text, one text at a time.
type GenerateResult struct {
	Shape    string `json:"shape"`
	Context  int    `json:"context"`
	Position int    `json:"position"`
	Threads  int    `json:"threads"`
	ISA      string `json:"isa"`

	MsPerToken   float64 `json:"ms_per_token"` // the median
	WeightsMB    float64 `json:"weights_mb"`   // read for a token: all weights but the table of positions
	GBPerS       float64 `json:"gb_per_s"`     // WeightsMB over MsPerToken
	BandwidthGBS float64 `json:"bandwidth_gb_per_s"`
	Share        float64 `json:"share_of_bandwidth,omitzero"` // 0 for weights of less than CachedMB
}

// CachedMB bounds the weights that may stay in the caches of a processor from one token to the next, so that the
// bandwidth of the memory says nothing about them.
const CachedMB = 64

// The tokens that are measured about each position, and how often.
const (
	tokensAbout    = 8
	generateRounds = 3
)

// Generate measures the tokens about each of the positions, which are at least 1 and below the context, in a
// model of the shape with that context, which is at least 3.
func Generate(s Shape, context int, positions []int) ([]GenerateResult, error) {
	return generateBeside(s, context, positions, bandwidthBytes)
}

// generateBeside is Generate with the bytes that bandwidth is measured with.
func generateBeside(s Shape, context int, positions []int, bytes int) ([]GenerateResult, error) {
	c := s.Config()
	c.Context = context
	m, err := layers.NewGPT(c, layers.Float32)
	if err != nil {
		return nil, err
	}
	m.Init(1)
	d, err := generate.New(m, data.NewByte()).NewDecoder(1)
	if err != nil {
		return nil, err
	}
	threads := cpu.Default().Workers()
	before, err := bandwidth(threads, bytes, peakRuns)
	if err != nil {
		return nil, err
	}
	times, err := tokenTimes(d, positions, randomTokens(context, s.V))
	if err != nil {
		return nil, err
	}
	after, err := bandwidth(threads, bytes, peakRuns)
	if err != nil {
		return nil, err
	}
	peak := max(before, after)
	_, weights, err := c.ParameterCount()
	if err != nil {
		return nil, err
	}
	var all []GenerateResult
	for i, p := range positions {
		took := median(times[i])
		rate := perSecond(floatBytes*float64(weights), took)
		r := GenerateResult{
			Shape: s.Name, Context: context, Position: p, Threads: threads, ISA: cpu.Default().ISA(),
			MsPerToken: milliseconds(took), WeightsMB: megabytes(floatBytes * int64(weights)),
			GBPerS: round(rate, 2), BandwidthGBS: round(peak, 2),
		}
		if r.WeightsMB >= CachedMB {
			r.Share = round(rate/peak, 4)
		}
		all = append(all, r)
	}
	return all, nil
}

// tokenTimes goes over the positions several times, and each time fills a text up to shortly before each, makes
// one token that warms up, and times the following ones.
func tokenTimes(d *generate.Decoder, positions []int, tokens []int32) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(positions))
	text := []int{0}
	for range generateRounds {
		for i, p := range positions {
			at := max(1, p-tokensAbout/2)
			if err := d.Fill(0, tokens[:at]); err != nil {
				return nil, err
			}
			for n := range tokensAbout + 1 {
				if at+n >= len(tokens) {
					break
				}
				t, err := timed(func() error { return d.Next(text, tokens[at+n:at+n+1]) })
				if err != nil {
					return nil, err
				}
				if n > 0 {
					times[i] = append(times[i], t)
				}
			}
		}
	}
	return times, nil
}
