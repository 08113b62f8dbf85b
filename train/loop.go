package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"tinylm/data"
	"tinylm/train/checkpoint"
	"tinylm/train/metrics"
)

// Intervals say after how many steps something happens; 0 = never.
type Intervals struct {
	Eval   int // evaluation
	Save   int // checkpoint; there is also one at step 0, with every new best loss, and at the end
	Log    int // line of metrics, and of progress where there is no terminal
	Sample int // text by the model
}

// Progress is where a run stands. ValLoss and ValBPB are those of the last evaluation, NaN before the
// first; Loss, Rate and Norm are NaN before the first step.
type Progress struct {
	Step, MaxIters  int
	Loss, ValLoss   float64 // nats per token
	ValBPB          float64 // bits per byte
	Rate, Norm      float64
	TokensPerSecond float64 // of the steps since the last line
	Left            time.Duration
	LogLine         bool // a line is due: at every Log interval and the last step
}

// Reporter is told what happens in a run. Its methods are called from the loop's goroutine.
type Reporter interface {
	Step(p Progress)
	Evaluated(p Progress)
	Sample(step int, text string)
	Saved(step int, path string, best bool, took time.Duration)
	Notice(text string) // one line
}

// Loop trains to the limits of its Trainer and keeps a run directory.
type Loop struct {
	Trainer *Trainer
	Dir     *checkpoint.Run // the run directory
	Metrics *metrics.Writer
	// Checkpoint is what is saved, but for what Trainer.Snapshot fills in: the caller sets EndOfText,
	// TokenizerFiles and State with text and settings; after a resume, State is the one read.
	Checkpoint *checkpoint.Checkpoint
	Intervals  Intervals
	Sample     func(ctx context.Context) (string, error) // nil: no samples
	Report     Reporter

	ValidationTokens, ValidationBytes int64 // of the whole validation part, for bits per byte

	now     Progress
	before  time.Duration // trained before this session
	started time.Time
	speed   speedometer
	saved   int // step of the last checkpoint, -1 before the first
	latest  string
	newBest bool // since the last checkpoint
}

// Result is how a run ended.
type Result struct {
	Step        int
	Seconds     float64 // of this session
	BestLoss    float64 // nats per token; NaN without evaluation
	BestBPB     float64 // bits per byte
	BestStep    int
	Path        string // the latest checkpoint
	Interrupted bool
}

// Run trains until MaxIters or Time is reached, or ctx is cancelled: then it ends the step, saves and
// reports Interrupted. An error leaves the last checkpoint as it was.
func (l *Loop) Run(ctx context.Context) (Result, error) {
	if err := l.begin(); err != nil {
		return Result{}, err
	}
	var interrupted bool
	for done := l.finished(); !done && !interrupted; {
		var err error
		if done, interrupted, err = l.step(ctx); err != nil {
			return Result{}, l.fail(err)
		}
	}
	s := l.Checkpoint.State
	return Result{
		Step: l.Trainer.Done(), Seconds: time.Since(l.started).Seconds(),
		BestLoss: s.BestValLoss, BestBPB: l.bitsPerByte(s.BestValLoss), BestStep: s.BestStep,
		Path: l.latest, Interrupted: interrupted,
	}, nil
}

// begin evaluates and saves a new run at step 0; a resumed one goes on from its last checkpoint.
func (l *Loop) begin() error {
	s := l.Checkpoint.State
	nan := math.NaN()
	l.now = Progress{Step: l.Trainer.Done(), MaxIters: l.Trainer.opts.MaxIters,
		Loss: nan, ValLoss: nan, ValBPB: nan, Rate: nan, Norm: nan}
	l.before = time.Duration(s.Seconds * float64(time.Second))
	l.started = time.Now()
	l.saved, l.latest = -1, l.Checkpoint.Path
	if l.Trainer.Done() > 0 {
		l.saved = l.Trainer.Done()
		l.now.ValLoss, l.now.ValBPB = s.ValLoss, l.bitsPerByte(s.ValLoss)
		return l.record("resume")
	}
	s.ValLoss, s.BestValLoss = nan, nan
	if l.Intervals.Eval > 0 {
		if err := l.evaluate("start", firstEvalLimit); err != nil {
			return err
		}
	}
	l.started = time.Now() // the first evaluation is no training
	return l.save()
}

func (l *Loop) finished() bool {
	limit := l.Trainer.opts.Time
	return l.Trainer.Done() >= l.now.MaxIters || limit > 0 && l.elapsed() >= limit
}

// elapsed is the time trained, earlier sessions included.
func (l *Loop) elapsed() time.Duration { return l.before + time.Since(l.started) }

// step makes one training step and what is due after it. It tells whether it was the last one, or the last
// because ctx was cancelled; in both cases it is saved.
func (l *Loop) step(ctx context.Context) (done, interrupted bool, err error) {
	began := time.Now()
	s, err := l.Trainer.Step()
	if err != nil {
		return false, false, err
	}
	l.speed.add(s.Tokens, time.Since(began))
	n := s.N
	l.now.Step, l.now.Loss, l.now.Rate, l.now.Norm = n, s.Loss, s.Rate, s.Norm
	l.now.TokensPerSecond = l.speed.rate()
	l.now.Left = l.left()
	done = l.finished()
	l.now.LogLine = done || due(n, l.Intervals.Log)
	if err := l.measure(done); err != nil {
		return false, false, err
	}
	l.Report.Step(l.now)
	if l.now.LogLine {
		l.speed.restart()
	}
	if due(n, l.Intervals.Sample) && !done {
		if err := l.sample(ctx); err != nil {
			return false, false, err
		}
	}
	if interrupted = ctx.Err() != nil && !done; interrupted {
		if err := l.record("interrupted"); err != nil {
			return false, false, err
		}
	}
	if l.newBest || due(n, l.Intervals.Save) || done || interrupted {
		err = l.save()
	}
	return done, interrupted, err
}

// measure evaluates if that is due, and writes the line that is due.
func (l *Loop) measure(done bool) error {
	event := ""
	if done {
		event = "done"
	}
	if l.Intervals.Eval > 0 && (done || due(l.now.Step, l.Intervals.Eval)) {
		if !done {
			event = "eval"
		}
		return l.evaluate(event, data.EvalLimit)
	}
	if l.now.LogLine {
		return l.record(event)
	}
	return nil
}

func due(step, interval int) bool { return interval > 0 && step%interval == 0 }

// left estimates the time to the nearer limit.
func (l *Loop) left() time.Duration {
	perStep := time.Since(l.started) / time.Duration(l.speed.steps)
	left := perStep * time.Duration(l.now.MaxIters-l.now.Step)
	if limit := l.Trainer.opts.Time; limit > 0 {
		left = min(left, limit-l.elapsed())
	}
	return max(0, left)
}

// firstEvalLimit is the number of tokens that the evaluation before the first step looks at, so that training
// begins at once: of a model that knows nothing there is nothing to be measured exactly.
const firstEvalLimit = data.EvalLimit / 8

// evaluate measures the validation loss on at most limit tokens, notes a new best, and says so when the last few
// were no better.
func (l *Loop) evaluate(event string, limit int) error {
	e, err := l.Trainer.evaluate(limit)
	if err != nil {
		return err
	}
	l.now.ValLoss, l.now.ValBPB = e.Loss, l.bitsPerByte(e.Loss)
	s := l.Checkpoint.State
	s.ValLoss = e.Loss
	if math.IsNaN(s.BestValLoss) || e.Loss < s.BestValLoss {
		s.BestValLoss, s.BestStep, s.EvalsSinceBest = e.Loss, l.Trainer.Done(), 0
		l.newBest = true
	} else if s.EvalsSinceBest++; s.EvalsSinceBest == overfitAfter {
		l.Report.Notice(fmt.Sprintf("validation loss has not improved for %d evaluations: the model begins to memorise; "+
			"the best one, of step %d, is kept", overfitAfter, s.BestStep))
		event = "overfit"
	}
	l.Report.Evaluated(l.now)
	return l.record(event)
}

// overfitAfter is the number of evaluations without improvement that bring the notice.
const overfitAfter = 3

// bitsPerByte converts a validation loss in nats per token.
func (l *Loop) bitsPerByte(loss float64) float64 {
	return metrics.BitsPerByte(loss, l.ValidationTokens, l.ValidationBytes)
}

// record writes a line of metrics.
func (l *Loop) record(event string) error {
	return l.Metrics.Write(metrics.Record{
		Step: l.now.Step, Tokens: l.Trainer.tokens, Epoch: l.Trainer.Epoch(), Seconds: l.elapsed().Seconds(),
		TrainLoss: l.now.Loss, ValLoss: l.now.ValLoss, ValBPB: l.now.ValBPB,
		LR: l.now.Rate, GradNorm: l.now.Norm, TokensPerS: l.now.TokensPerSecond, Event: event,
	})
}

// sample writes a text by the model to the run's samples and reports it.
func (l *Loop) sample(ctx context.Context) error {
	if l.Sample == nil {
		return nil
	}
	text, err := l.Sample(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil // interrupted: the step that was asked to be the last is saved all the same
		}
		return err
	}
	dir := l.Dir.File(checkpoint.SamplesDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(dir, checkpoint.StepName(l.Trainer.Done())+".txt")
	if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
		return err
	}
	l.Report.Sample(l.Trainer.Done(), text)
	return nil
}

// save writes a checkpoint, unless this step has one already.
func (l *Loop) save() error {
	n := l.Trainer.Done()
	if l.saved == n {
		return nil
	}
	if err := l.Metrics.Sync(); err != nil {
		return err
	}
	s := l.Checkpoint.State
	s.Seconds, s.MetricsBytes = l.elapsed().Seconds(), l.Metrics.Position()
	if err := l.Trainer.Snapshot(l.Checkpoint); err != nil {
		return err
	}
	began := time.Now()
	path, err := l.Dir.Save(l.Checkpoint, l.newBest)
	if err != nil {
		return fmt.Errorf("step %d: %w", n, err)
	}
	l.Report.Saved(n, path, l.newBest, time.Since(began))
	l.saved, l.latest, l.newBest = n, path, false
	return nil
}

// fail records why a run stops; the record is a help, so its own errors do not hide the reason.
func (l *Loop) fail(err error) error {
	var step *NonFiniteError
	var weight *checkpoint.NonFiniteError
	switch {
	case errors.As(err, &step) && step.Validation:
		l.now.ValLoss, l.now.ValBPB = step.Loss, l.bitsPerByte(step.Loss)
	case errors.As(err, &step):
		l.now.Step, l.now.Loss, l.now.Norm = step.Step, step.Loss, step.Norm
		l.now.Rate = l.Trainer.schedule.Rate(step.Step - 1)
	case !errors.As(err, &weight):
		return err
	}
	return errors.Join(err, l.record("non-finite"), l.Metrics.Sync())
}

// speedometer measures tokens per second of the training steps themselves, since it was restarted.
type speedometer struct {
	tokens int
	took   time.Duration
	steps  int // of the whole session
}

func (s *speedometer) restart() { s.tokens, s.took = 0, 0 }

func (s *speedometer) add(tokens int, took time.Duration) {
	s.tokens, s.took, s.steps = s.tokens+tokens, s.took+took, s.steps+1
}

func (s *speedometer) rate() float64 { return float64(s.tokens) / s.took.Seconds() }
