// Package metrics keeps the record of a run: metrics.jsonl, one JSON object a line.
//
// A value that is not known, or is not finite, is null in the file and NaN in Go, so that every line
// is valid JSON for every reader.
package metrics

import (
	"encoding/json"
	"errors"
	"math"
)

// Record is one line of metrics.jsonl: where the run stood, and what was measured. [NewRecord] makes
// one in which nothing is measured yet.
type Record struct {
	Step       int     // steps done
	Tokens     int64   // trained on so far
	Epoch      float64 // passes over the training text so far
	Seconds    float64 // trained so far
	TrainLoss  float64 // nats per token
	ValLoss    float64 // nats per token
	ValBPB     float64 // bits per byte of validation text
	LR         float64 // learning rate of the step
	GradNorm   float64 // of all gradients, before clipping
	TokensPerS float64
	Event      string // what happened, such as "resume"; usually empty
}

// line is the layout of a Record in the file.
type line struct {
	Step       *int     `json:"step"`
	Tokens     int64    `json:"tokens"`
	Epoch      *float64 `json:"epoch"`
	Seconds    *float64 `json:"seconds"`
	TrainLoss  *float64 `json:"train_loss"`
	ValLoss    *float64 `json:"val_loss"`
	ValBPB     *float64 `json:"val_bpb"`
	LR         *float64 `json:"lr"`
	GradNorm   *float64 `json:"grad_norm"`
	TokensPerS *float64 `json:"tokens_per_s"`
	Event      string   `json:"event,omitempty"`
}

// NewRecord returns a record of a step in which every other number is unknown (NaN), Tokens zero.
func NewRecord(step int) Record {
	r := Record{Step: step}
	for _, v := range r.values() {
		*v = math.NaN()
	}
	return r
}

// values returns the record's measurements in the order of the line's.
func (r *Record) values() [8]*float64 {
	return [8]*float64{&r.Epoch, &r.Seconds, &r.TrainLoss, &r.ValLoss, &r.ValBPB, &r.LR, &r.GradNorm, &r.TokensPerS}
}

func (l *line) values() [8]**float64 {
	return [8]**float64{&l.Epoch, &l.Seconds, &l.TrainLoss, &l.ValLoss, &l.ValBPB, &l.LR, &l.GradNorm, &l.TokensPerS}
}

// MarshalJSON writes the record as one line, without its end.
func (r Record) MarshalJSON() ([]byte, error) {
	l := line{Step: &r.Step, Tokens: r.Tokens, Event: r.Event}
	known := l.values()
	for i, v := range r.values() {
		if !math.IsNaN(*v) && !math.IsInf(*v, 0) {
			*known[i] = v
		}
	}
	return json.Marshal(l)
}

// UnmarshalJSON reads a line. Keys that are not known are left alone; a value that is missing or
// null becomes NaN. The step must be there.
func (r *Record) UnmarshalJSON(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	if l.Step == nil {
		return errors.New("no step")
	}
	*r = NewRecord(*l.Step)
	r.Tokens, r.Event = l.Tokens, l.Event
	known := l.values()
	for i, v := range r.values() {
		if *known[i] != nil {
			*v = **known[i]
		}
	}
	return nil
}

// Perplexity is e to the power of a loss in nats per token; beyond float64 it is +Inf.
func Perplexity(loss float64) float64 {
	root := math.Exp(loss / 2) // math.Exp gives up early: on amd64, Exp(709.78) is +Inf
	return root * root
}

// BitsPerByte converts a mean loss in nats per token, over tokens that spell bytes of text, to bits
// per byte, which compares between tokenizers.
func BitsPerByte(loss float64, tokens, bytes int64) float64 {
	return loss * float64(tokens) / float64(bytes) / math.Ln2
}
