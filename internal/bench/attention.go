package bench

import (
	"fmt"
	"time"

	"gorgonia.org/gorgonia"

	"tinylm/graph/machine"
	"tinylm/internal/device/cpu"
	"tinylm/internal/device/cpu/simd"
)

// AttentionOptions say which attention is measured: causal self-attention of one window on a fused
// projection.
type AttentionOptions struct {
	Heads, HeadWidth int
	Composed         bool // also run the form spelled out in primitive nodes
	Tape             bool // and that on Gorgonia's tape machine
}

// AttentionResult is what attention takes at one length. Extra memory is what is needed beyond inputs,
// outputs and gradients. A figure that was not asked for is 0, and left out in
// JSON.
type AttentionResult struct {
	Length    int    `json:"length"`
	Heads     int    `json:"heads"`
	HeadWidth int    `json:"head_width"`
	Threads   int    `json:"threads"`
	ISA       string `json:"isa"`

	FusedForwardMs float64 `json:"fused_forward_ms"`
	FusedMs        float64 `json:"fused_ms"` // forward and backward, as all that follow
	FusedExtraMB   float64 `json:"fused_extra_mb"`

	ComposedForwardMs float64 `json:"composed_forward_ms,omitzero"`
	ComposedMs        float64 `json:"composed_ms,omitzero"`
	ComposedExtraMB   float64 `json:"composed_extra_mb"`    // as planned, also when it is not run
	WeightsMB         float64 `json:"weights_mb"`           // of the attention weights (H, T, T) alone
	ProductsMs        float64 `json:"products_ms,omitzero"` // the matrix products of the composed form alone
	ProductsGFLOPS    float64 `json:"products_gflops,omitzero"`
	Ratio             float64 `json:"ratio,omitzero"` // composed over fused

	TapeMs    float64 `json:"tape_ms,omitzero"`
	TapeRatio float64 `json:"tape_ratio,omitzero"` // tape machine over fused

	ProjectionMs float64 `json:"projection_ms"` // of x to queries, keys and values by one product
	SeparateMs   float64 `json:"separate_ms"`   // by three products
}

// How long each is run, at least three times after a run that warms up.
const (
	attentionSpend = 300 * time.Millisecond
	leastRuns      = 3
)

// Attention measures attention at one length.
func Attention(length int, o AttentionOptions) (AttentionResult, error) {
	return attentionFor(attentionSpend, length, o)
}

func attentionFor(spend time.Duration, length int, o AttentionOptions) (AttentionResult, error) {
	set, err := simd.FromEnv()
	if err != nil {
		return AttentionResult{}, err
	}
	a := &attention{AttentionOptions: o, length: length, set: set, spend: spend}
	r := AttentionResult{Length: length, Heads: o.Heads, HeadWidth: o.HeadWidth,
		Threads: cpu.Default().Workers(), ISA: cpu.Default().ISA(),
		WeightsMB: megabytes(int64(o.Heads) * int64(length) * int64(length) * floatBytes)}
	for _, part := range []func(*AttentionResult) error{a.fused, a.composed, a.tape, a.projection} {
		if err := part(&r); err != nil {
			return r, fmt.Errorf("attention of length %d: %w", length, err)
		}
	}
	return r, nil
}

const floatBytes = 4

func megabytes(bytes int64) float64 { return round(float64(bytes)/(1<<20), 2) }

// attention measures at one length.
type attention struct {
	AttentionOptions
	length int
	set    *simd.Set
	spend  time.Duration
}

func (a *attention) fused(r *AttentionResult) (err error) {
	if r.FusedForwardMs, _, err = a.run(false, false); err != nil {
		return err
	}
	r.FusedMs, r.FusedExtraMB, err = a.run(false, true)
	return err
}

func (a *attention) composed(r *AttentionResult) (err error) {
	if !a.Composed {
		g, err := a.graph(true, true)
		if err != nil {
			return err
		}
		extra, err := machine.Bytes(g.graph, g.options()...)
		r.ComposedExtraMB = megabytes(extra)
		return err
	}
	if r.ComposedForwardMs, _, err = a.run(true, false); err != nil {
		return err
	}
	if r.ComposedMs, r.ComposedExtraMB, err = a.run(true, true); err != nil {
		return err
	}
	r.Ratio = round(r.ComposedMs/r.FusedMs, 2)
	r.ProductsMs, r.ProductsGFLOPS, err = a.products()
	return err
}

// run returns the time in ms, and the extra memory in MB, of a form on a device of its own, whose scratch
// memory is this run's alone.
func (a *attention) run(composed, backward bool) (ms, extra float64, err error) {
	g, err := a.graph(composed, backward)
	if err != nil {
		return 0, 0, err
	}
	d := cpu.NewWith(0, a.set)
	m, err := machine.New(g.graph, append(g.options(), machine.On(d))...)
	if err != nil {
		return 0, 0, err
	}
	defer m.Close()
	took, err := fastest(m.RunAll, a.spend, leastRuns)
	return milliseconds(took), megabytes(m.Bytes() + d.ScratchBytes()), err
}

// tape runs the composed form on Gorgonia's own machine.
func (a *attention) tape(r *AttentionResult) error {
	if !a.Tape {
		return nil
	}
	g, err := a.graph(true, true)
	if err != nil {
		return err
	}
	m := gorgonia.NewTapeMachine(g.graph)
	defer m.Close()
	took, err := fastest(func() error {
		m.Reset()
		return m.RunAll()
	}, a.spend, 1)
	r.TapeMs = milliseconds(took)
	r.TapeRatio = round(r.TapeMs/r.FusedMs, 2)
	return err
}
