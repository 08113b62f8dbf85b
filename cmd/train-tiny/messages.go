package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tinylm/data"
	"tinylm/internal/device/cpu"
	"tinylm/train"
	"tinylm/train/checkpoint"
	"tinylm/train/metrics"
)

// probeSteps are timed to estimate how long a run takes.
const probeSteps = 3

// sayPlan tells what will happen, before the first step.
func (j *job) sayPlan(ctx context.Context) error {
	j.sayTitle()
	total, _, err := j.model.GPT.Config.ParameterCount()
	if err != nil {
		return err
	}
	m, tokens := j.settings.Model, len(j.training)+len(j.validation)
	j.plan("text", "%v", data.Summarize(j.text.Bytes))
	j.plan("tokenizer", "%s, vocabulary of %s, %.2f tokens per byte", j.tokenizer.Kind(),
		data.Thousands(j.tokenizer.VocabSize()), float64(tokens)/float64(len(j.text.Bytes)))
	j.plan("split", "%s tokens train / %s validation", data.Thousands(len(j.training)), data.Thousands(len(j.validation)))
	j.plan("model", "%s, %s, width %d, block %d: %s parameters, %.2g training tokens for each",
		several(m.NLayer, "layer"), several(m.NHead, "head"), m.NEmbd, m.BlockSize, countText(total),
		float64(len(j.training))/float64(total))
	j.plan("training", "%s", j.trainingText())
	step, err := j.trainer.Probe(ctx, probeSteps)
	if err != nil {
		return j.explain(err)
	}
	j.plan("cpu", "%s, %s; %s for the step; %s", several(j.trainer.Workers(), "worker"), instructionsText(cpu.Default().ISA()),
		bytesText(j.trainer.Bytes()), j.durationText(step))
	j.plan("goal", "%s bits per byte", j.goalText())
	dir := j.settings.Train.OutDir
	if j.run != nil {
		dir = j.run.Path
	}
	j.plan("run", "%s\n", filepath.Clean(dir)+string(filepath.Separator))
	return nil
}

// sayTitle tells what is trained on, and what should be known of the schedule and of a run that is resumed.
func (j *job) sayTitle() {
	if j.resumed != nil {
		note(j.err, j.resumed.notice)
		note(j.err, j.resumed.scheduleNotice(j.settings.Train.MaxIters))
	}
	if t := j.settings.Train; t.WarmupIters >= t.MaxIters {
		note(j.err, fmt.Sprintf("--warmup-iters %d is not below --max-iters %d: the learning rate never reaches %s",
			t.WarmupIters, t.MaxIters, rateText(t.LearningRate)))
	}
	what := "training on " + j.path
	if j.path == "" {
		what = fmt.Sprintf("no file given, training on the built-in sample (%s, %s)", j.text.Name, bytesText(int64(len(j.text.Bytes))))
	}
	fmt.Fprintf(j.err, "tinylm: %s. Ctrl-C saves and stops.\n\n", what)
}

// goalText says what a model that knows nothing would reach, and what none can.
func (j *job) goalText() string {
	tokens, bytes := j.measured()
	text := fmt.Sprintf("uniform %.2f", metrics.BitsPerByte(math.Log(float64(j.tokenizer.VocabSize())), tokens, bytes))
	if j.text.floor > 0 {
		text += fmt.Sprintf("  floor %.2f", j.text.floor)
	}
	return text
}

// plan writes one line of the plan.
func (j *job) plan(title, format string, args ...any) {
	fmt.Fprintf(j.err, "%-10s %s\n", title, fmt.Sprintf(format, args...))
}

// trainingText says how much will be trained and at which rate.
func (j *job) trainingText() string {
	t, batch := j.settings.Train, j.settings.Batch.BatchSize.String()
	if t.GradAccum > 1 {
		batch = fmt.Sprintf("%d x %s", t.GradAccum, batch)
	}
	text := fmt.Sprintf("%s of %s x %d tokens = %.1f epochs; AdamW %s to %s, warm-up %d",
		several(t.MaxIters, "step"), batch, j.settings.Model.BlockSize, float64(t.MaxIters)*j.settings.tokensPerStep()/float64(len(j.training)),
		rateText(t.LearningRate), rateText(t.MinLR), t.WarmupIters)
	if j.resumed != nil {
		text += fmt.Sprintf("; %s steps are done", data.Thousands(j.trainer.Done()))
	}
	return text
}

// forwardShare is the time of a step over that of its forward part, all that an evaluation does.
const forwardShare = 3

// durationText estimates how long the training takes, given the time of a step.
func (j *job) durationText(step time.Duration) string {
	steps := j.settings.Train.MaxIters - j.trainer.Done()
	all := step * time.Duration(steps)
	if interval := j.settings.Train.EvalInterval; interval > 0 {
		tokens := float64(min(len(j.validation), data.EvalLimit))
		evaluation := float64(step) / forwardShare * tokens / j.settings.tokensPerStep()
		all += time.Duration(evaluation * float64(2+steps/interval)) // also at the beginning and at the end
	}
	if limit := j.settings.Train.Time; limit > 0 && limit < all {
		return fmt.Sprintf("stops after %s (--time)", timeText(limit))
	}
	if all < time.Second {
		return "under 1 s in all"
	}
	return fmt.Sprintf("about %s in all (measured on %d steps)", timeText(all), probeSteps)
}

// sayInterrupted tells what was saved and how to go on.
func (j *job) sayInterrupted(r train.Result) {
	if j.report.saved != "" {
		fmt.Fprintf(j.err, "saved %s in %s\n", j.report.saved, timeText(j.report.took))
	}
	if r.Step < j.settings.Train.MaxIters {
		fmt.Fprintf(j.err, "go on with:  %s\n", j.resumeCommand())
	}
}

// sayDone sums a run up and names what can be done next.
func (j *job) sayDone(r train.Result) {
	fmt.Fprintln(j.err)
	done := "step " + data.Thousands(r.Step)
	if r.Step < j.settings.Train.MaxIters {
		done += fmt.Sprintf(" of %s (--time is over)", data.Thousands(j.settings.Train.MaxIters))
	}
	done += " in " + timeText(time.Duration(r.Seconds*float64(time.Second)))
	if !math.IsNaN(r.BestLoss) {
		done += fmt.Sprintf("; best validation %.4f nats = %.3f bits per byte at step %s",
			r.BestLoss, r.BestBPB, data.Thousands(r.BestStep))
		if j.text.floor > 0 {
			done += fmt.Sprintf(" (floor %.2f)", j.text.floor)
		}
	}
	j.plan("done", "%s", done)
	j.plan("saved", "%s (a Hugging Face GPT-2 directory)", r.Path)
	if !math.IsNaN(r.BestLoss) && r.BestStep != r.Step {
		j.plan("best", "%s", filepath.Join(filepath.Dir(r.Path), checkpoint.StepName(r.BestStep)))
	}
	dir := quote(j.run.Path)
	prompt := ""
	if p := examplePrompt(j.text.Bytes); p != "" {
		prompt = " --prompt " + quote(p)
	}
	j.plan("next", "%s generate %s%s", j.program, dir, prompt)
	if len(j.validation) > 0 {
		j.plan("", "%s eval %s", j.program, dir)
	}
	if r.Step < j.settings.Train.MaxIters {
		j.plan("", "%s --time %v", j.resumeCommand(), moreTime(j.settings.Train.Time, j.checkpoint.State.Seconds))
	}
	fmt.Fprintln(j.err)
}

// resumeCommand is what to type to go on with the run.
func (j *job) resumeCommand() string {
	words := []string{j.program}
	if j.path != "" {
		words = append(words, quote(j.path))
	}
	return strings.Join(append(words, "--out-dir", quote(j.run.Path), "--resume"), " ")
}

// examplePrompt returns the first words of a text, three at most, if they are easy to type.
func examplePrompt(text []byte) string {
	words := strings.Fields(string(text[:min(len(text), 200)]))
	if len(words) < 4 { // the last one may be cut off
		return ""
	}
	prompt := strings.Join(words[:3], " ")
	hard := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if strings.IndexFunc(prompt, hard) >= 0 || !strings.Contains(string(text), prompt) || len(prompt) > 40 {
		return ""
	}
	return prompt
}

// explain completes the error of a training that left the numbers: with the text of the batch, what became
// of the step, the last good checkpoint, and a lower rate to try.
func (j *job) explain(err error) error {
	var step *train.NonFiniteError
	var weight *checkpoint.NonFiniteError
	switch {
	case errors.As(err, &step):
		text, decodeErr := j.tokenizer.Decode(step.Batch)
		if decodeErr != nil {
			return errors.Join(err, decodeErr)
		}
		done := "nothing was updated"
		if step.Validation {
			done = "that step is not saved"
		}
		err = fmt.Errorf("%w; batch text %s; %s", err, excerpt(text), done)
	case !errors.As(err, &weight):
		return err
	}
	return fmt.Errorf("%w; %s; try %s", err, j.lastGood(), lowerRate(j.settings.Train))
}

// lastGood names the checkpoint to go back to. The best one is surely good; the last one may already have
// been on the way out.
func (j *job) lastGood() string {
	last := j.checkpoint.Path
	if j.report != nil && j.report.saved != "" {
		last = j.report.saved
	}
	if last == "" {
		return "there is no checkpoint yet"
	}
	last = filepath.Base(last)
	state := j.checkpoint.State
	if best := checkpoint.StepName(state.BestStep); !math.IsNaN(state.BestValLoss) && best != last {
		return fmt.Sprintf("the last checkpoint is %s, the best one %s", last, best)
	}
	return "the last good checkpoint is " + last
}

// excerpt quotes the beginning of a text.
func excerpt(text []byte) string {
	const most = 60
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	for most := most; ; most-- {
		if utf8.RuneStart(text[most]) || most == 0 {
			return strconv.Quote(string(text[:most])) + "..."
		}
	}
}

// lowerRate are the flags for a third of the learning rate, rounded to one digit.
func lowerRate(t trainSettings) string {
	rate, err := strconv.ParseFloat(strconv.FormatFloat(t.LearningRate/3, 'e', 0, 64), 64)
	if err != nil {
		rate = t.LearningRate / 3
	}
	text := "--learning-rate " + rateText(rate)
	if rate < t.MinLR {
		text += " --min-lr " + rateText(rate/10)
	}
	return text
}

// hintCommand adds to the error of a text that does not exist the command that was perhaps meant.
func hintCommand(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if near := nearest(path, commands); near != "" {
		return fmt.Errorf("%w; did you mean the command %s?", err, near)
	}
	return err
}
