package train

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tinylm/data"
	"tinylm/train/checkpoint"
	"tinylm/train/metrics"
)

// recorder keeps what a loop reports.
type recorder struct {
	evaluated []float64 // validation losses
	at        []int     // their steps
	saved     []int
	notices   []string
	onStep    func(Progress)
}

func (r *recorder) Step(p Progress) {
	if r.onStep != nil {
		r.onStep(p)
	}
}
func (r *recorder) Evaluated(p Progress) {
	r.evaluated, r.at = append(r.evaluated, p.ValLoss), append(r.at, p.Step)
}
func (r *recorder) Sample(int, string) {}
func (r *recorder) Saved(step int, _ string, _ bool, _ time.Duration) {
	r.saved = append(r.saved, step)
}
func (r *recorder) Notice(text string) { r.notices = append(r.notices, text) }

// newLoop makes a loop in dir, going on from c if it is not nil.
func newLoop(t *testing.T, tr *Trainer, dir string, c *checkpoint.Checkpoint, every Intervals) (*Loop, *recorder) {
	t.Helper()
	open := func() (*checkpoint.Run, error) { return checkpoint.CreateAt(dir, false) }
	if c != nil {
		open = func() (*checkpoint.Run, error) { return checkpoint.Resume(dir) }
		if err := tr.Restore(c); err != nil {
			t.Fatal(err)
		}
	} else {
		c = emptyCheckpoint(t)
	}
	run, err := open()
	if err != nil {
		t.Fatal(err)
	}
	m, err := metrics.OpenWriter(run.File(checkpoint.MetricsFile), c.State.MetricsBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	r := &recorder{}
	return &Loop{Trainer: tr, Dir: run, Metrics: m, Checkpoint: c, Intervals: every, Report: r,
		ValidationTokens: 2, ValidationBytes: 1}, r
}

func runLoop(t *testing.T, ctx context.Context, l *Loop) Result {
	t.Helper()
	res, err := l.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func lines(t *testing.T, dir string) []metrics.Record {
	t.Helper()
	all, err := metrics.ReadFile(filepath.Join(dir, checkpoint.MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A run interrupted between evaluations and resumed leaves the record of an uninterrupted one, but for the
// lines of those two events and the times, and the same final weights.
func TestLoopResumes(t *testing.T) {
	every := Intervals{Eval: 10, Save: 20, Log: 2}
	straightDir, dir := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	straight := newSmall(t, 2, smallOptions(40))
	l, _ := newLoop(t, straight, straightDir, nil, every)
	runLoop(t, t.Context(), l)

	ctx, cancel := context.WithCancel(t.Context())
	l, r := newLoop(t, newSmall(t, 2, smallOptions(40)), dir, nil, every)
	r.onStep = func(p Progress) {
		if p.Step == 25 {
			cancel()
		}
	}
	if res := runLoop(t, ctx, l); !res.Interrupted || res.Step != 25 || r.saved[len(r.saved)-1] != 25 {
		t.Fatalf("interrupted: %+v, saved %v", res, r.saved)
	}
	c, notice, err := checkpoint.Open(dir)
	if err != nil || notice != "" {
		t.Fatal(notice, err)
	}
	second := newSmall(t, 2, smallOptions(40))
	l, _ = newLoop(t, second, dir, c, every)
	if res := runLoop(t, t.Context(), l); res.Interrupted || res.Step != 40 {
		t.Fatalf("resumed: %+v", res)
	}
	if !slices.Equal(weights(second), weights(straight)) {
		t.Error("final weights differ")
	}

	var events []string
	plain := func(all []metrics.Record) (kept []metrics.Record) {
		for _, m := range all {
			if m.Event == "interrupted" || m.Event == "resume" {
				events = append(events, m.Event)
				if m.Step != 25 || math.IsNaN(m.ValLoss) {
					t.Errorf("line of event %s: %+v", m.Event, m)
				}
				continue
			}
			m.Seconds, m.TokensPerS = 0, 0
			kept = append(kept, m)
		}
		return kept
	}
	want, got := plain(lines(t, straightDir)), plain(lines(t, dir))
	if !slices.Equal(events, []string{"interrupted", "resume"}) {
		t.Errorf("events %v", events)
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines after a resume, %d straight", len(got), len(want))
	}
	for i := range want {
		if i > 0 && got[i] != want[i] { // the line of step 0 holds NaN
			t.Errorf("line %d: %+v after a resume, %+v straight", i, got[i], want[i])
		}
	}
}

// The notice of over-fitting comes once, at the third evaluation in a row that is no better than the best,
// wherever the best was; also over a resume.
func TestLoopNoticesOverfitting(t *testing.T) {
	for _, best := range []int{0, 7} {
		tr := newSmall(t, 2, smallOptions(60))
		l, r := newLoop(t, tr, filepath.Join(t.TempDir(), "run"), nil, Intervals{Eval: 10})
		var noticedAt []int
		r.onStep = func(p Progress) {
			if p.Step == 1 { // no evaluation beats this
				l.Checkpoint.State.BestValLoss, l.Checkpoint.State.BestStep = 1e-3, best
				l.Checkpoint.State.EvalsSinceBest = 0
			}
			if len(r.notices) > len(noticedAt) {
				noticedAt = append(noticedAt, p.Step)
			}
		}
		if best > 1 {
			for range best { // the best was between evaluations
				if _, err := tr.Step(); err != nil {
					t.Fatal(err)
				}
			}
			r.onStep = func(p Progress) {
				if p.Step == best+1 {
					l.Checkpoint.State.BestValLoss, l.Checkpoint.State.BestStep = 1e-3, best
				}
				if len(r.notices) > len(noticedAt) {
					noticedAt = append(noticedAt, p.Step)
				}
			}
		}
		runLoop(t, t.Context(), l)
		if !slices.Equal(noticedAt, []int{30}) || !strings.Contains(r.notices[0], "validation loss has not improved") {
			t.Errorf("best at step %d: noticed at %v (%q), want once at step 30", best, noticedAt, r.notices)
		}
	}
}

// However the clock falls, a run that time ends is evaluated, recorded and saved at its last step.
func TestLoopEndsOnTime(t *testing.T) {
	for _, limit := range []time.Duration{1, 5 * time.Millisecond, 60 * time.Millisecond} {
		o := smallOptions(1_000_000)
		o.Time = limit
		dir := filepath.Join(t.TempDir(), "run")
		l, r := newLoop(t, newSmall(t, 2, o), dir, nil, Intervals{Eval: 100_000, Save: 3})
		res := runLoop(t, t.Context(), l)
		all := lines(t, dir)
		if res.Interrupted || r.saved[len(r.saved)-1] != res.Step || r.at[len(r.at)-1] != res.Step {
			t.Errorf("limit %v: %+v, saved %v, evaluated at %v", limit, res, r.saved, r.at)
		}
		if end := all[len(all)-1]; res.Step > 0 && (end.Event != "done" || end.Step != res.Step || math.IsNaN(end.ValLoss)) {
			t.Errorf("limit %v: last line %+v", limit, end)
		}
	}
}

// A loss that leaves the numbers is recorded as such; the last checkpoint is the one before.
func TestLoopRecordsNonFinite(t *testing.T) {
	o := smallOptions(200)
	o.LearningRate, o.MinLR, o.Warmup, o.Clip = 1e30, 0, 0, 0
	dir := filepath.Join(t.TempDir(), "run")
	l, r := newLoop(t, newSmall(t, 2, o), dir, nil, Intervals{Eval: 1, Save: 1, Log: 1})
	_, err := l.Run(t.Context())
	if err == nil {
		t.Fatal("a learning rate of 1e30 went unnoticed")
	}
	all := lines(t, dir)
	if end := all[len(all)-1]; end.Event != "non-finite" {
		t.Errorf("last line %+v", end)
	}
	c, notice, err := checkpoint.Open(dir)
	if err != nil || notice != "" || c.State.Step != r.saved[len(r.saved)-1] {
		t.Errorf("last checkpoint: %v, %q, %v", c, notice, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, checkpoint.MetricsFile))
	if err != nil || strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
		t.Errorf("metrics %q, %v", text, err)
	}
}

// A parameter that gorgonia.Let moved away from the weights is noticed before it is trained in vain.
func TestStepChecksBoundParameters(t *testing.T) {
	tr := newSmall(t, 1, smallOptions(5))
	steps(t, tr, 1)
	moved := tr.params[0]
	if err := letCopy(moved); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(); err == nil || !strings.Contains(err.Error(), moved.Name()) {
		t.Errorf("step with a moved parameter: %v; want an error naming it", err)
	}
}

// The node and the text of a failure are those of the micro-batch that it happened in.
func TestNonFiniteNamesItsMicroBatch(t *testing.T) {
	o := smallOptions(5)
	o.Accum = 2
	m := newModel(t, small)
	const hot = 19 // a token that only micro-batch 0 holds
	embedding, err := m.Params().Get("transformer.wte.weight")
	if err != nil {
		t.Fatal(err)
	}
	for i := range small.Width { // its embedding overflows in the first layer norm
		m.Params().Flat32()[embedding.Offset+hot*small.Width+i] = float32(math.Inf(1))
	}
	tr, err := NewTrainer(m, randomTokens(2000, small.Vocab), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	micro := 0
	tr.next = func(b *data.Batch) {
		for i := range b.Inputs {
			b.Inputs[i], b.Targets[i] = int32(micro%2), data.IgnoreIndex
		}
		if micro%2 == 0 {
			b.Inputs[0], b.Targets[0] = hot, 1
		}
		micro++
	}
	_, err = tr.Step()
	bad, ok := err.(*NonFiniteError)
	if !ok || bad.Batch[0] != hot || strings.Contains(bad.Node, "none in any") {
		t.Errorf("%v; want the first micro-batch's text and node", err)
	}
}

// The evaluation before the first step is of 8,192 tokens, so that training begins at once; the later ones
// are of the whole validation part.
func TestLoopFirstEvaluation(t *testing.T) {
	m, o, validation := newModel(t, small), smallOptions(1), randomTokens(9000, small.Vocab)
	loss := func(limit int) float64 {
		e, err := Evaluate(m, validation, limit, o.Batch)
		if err != nil {
			t.Fatal(err)
		}
		return e.Loss
	}
	tr, err := NewTrainer(m, randomTokens(300, small.Vocab), validation, o)
	if err != nil {
		t.Fatal(err)
	}
	l, r := newLoop(t, tr, filepath.Join(t.TempDir(), "run"), nil, Intervals{Eval: 1})
	first, whole := loss(8192), loss(0)
	runLoop(t, t.Context(), l)
	if want := []float64{first, loss(0)}; !slices.Equal(r.evaluated, want) || first == whole {
		t.Errorf("losses %v, want %v; of the whole part the first would be %v", r.evaluated, want, whole)
	}
}
