package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"tinylm/data"
	"tinylm/layers"
	"tinylm/train"
	"tinylm/train/checkpoint"
	"tinylm/train/generate"
	"tinylm/train/metrics"
)

// trainCmd trains a model.
type trainCmd struct {
	File        string   `arg:"" optional:"" help:"Text to learn from. Without it: the built-in sample, or with --resume the text of the run."`
	Settings    settings `embed:""`
	Config      string   `name:"config" placeholder:"FILE" help:"JSON file of settings, their flags' names as keys."`
	PrintConfig bool     `name:"print-config" help:"Print all settings as such a file, and stop."`
	Resume      bool     `name:"resume" xor:"begin" help:"Go on with the run in --out-dir."`
	Force       bool     `name:"force" xor:"begin" help:"Begin anew in an --out-dir that holds a run, whose files are removed."`
	Quiet       bool     `name:"quiet" help:"Say nothing but errors and the text at the end."`
}

// Run is called by the parser.
func (c *trainCmd) Run(ctx *kong.Context, s *streams) error {
	if c.Quiet {
		quiet := *s
		quiet.err = io.Discard
		s = &quiet
	}
	j := &job{streams: s, force: c.Force}
	if err := c.settle(ctx, j); err != nil {
		return err
	}
	if c.PrintConfig {
		text, err := j.settings.file()
		if err != nil {
			return err
		}
		_, err = s.out.Write(text)
		return err
	}
	return j.train()
}

// settle finds the settings and, with --resume, the checkpoint to go on from. It reads no text.
func (c *trainCmd) settle(ctx *kong.Context, j *job) error {
	flags := flagLayer(ctx)
	file, err := fileLayer(c.Config)
	if err != nil {
		return err
	}
	outDir := file.values["out-dir"]
	if given, ok := flags.values["out-dir"]; ok {
		if outDir = given; outDir == "" {
			return usagef("--out-dir is empty; name a directory for the run")
		}
	}
	if c.Force && outDir == "" {
		return usagef("--force needs --out-dir, the directory to begin anew in")
	}
	size := defaultSize
	if c.File == "" {
		size = sampleSize
	}
	layers := []layer{file, flags}
	j.path = c.File
	if c.Resume {
		if j.resumed, err = openResumed(outDir); err != nil {
			return err
		}
		layers = append([]layer{savedLayer(j.resumed.checkpoint)}, layers...)
		if j.path == "" {
			j.path = j.resumed.textPath()
		}
	}
	if j.settings, err = resolve(size, layers...); err != nil || j.resumed == nil {
		return err
	}
	if j.settings.Batch.BatchSize == autoBatch { // the run has found it
		if err := j.settings.set("batch-size", j.resumed.settings["batch-size"]); err != nil {
			return err
		}
	}
	return j.resumed.check(j.settings)
}

// job is a training run with all that it needs, filled in step by step.
type job struct {
	*streams
	settings settings
	path     string // of the text; "" for the sample
	force    bool
	resumed  *resumed // nil for a new run

	text       *corpus
	tokenizer  data.Tokenizer
	run        *checkpoint.Run
	replaces   bool // the directory holds a run that is to be removed: --force
	training   []int32
	validation []int32
	checkpoint *checkpoint.Checkpoint
	model      *generate.Model
	trainer    *train.Trainer
	report     *reporter
}

// train checks, prepares, says what will happen, and does it.
func (j *job) train() error {
	ctx, stop := watchSignals(j.err)
	defer stop()
	return j.trainUntil(ctx)
}

// trainUntil trains until an interruptedError cancels ctx, at the latest.
func (j *job) trainUntil(ctx context.Context) error {
	err := j.prepare(ctx)
	if stopped := interruption(ctx); stopped != nil {
		fmt.Fprintln(j.err, "stopped before the first step; nothing was written")
		err = stopped
	}
	if err != nil {
		if j.run != nil && j.resumed == nil {
			err = errors.Join(err, j.run.Discard())
		}
		return err
	}
	result, err := j.loop(ctx)
	if err != nil {
		return err
	}
	if result.Interrupted {
		j.sayInterrupted(result)
		return interruption(ctx)
	}
	j.sayDone(result)
	err = writeText(ctx, j.out, j.model, "", finalText(j.settings))
	if stopped := interruption(ctx); err != nil && stopped != nil {
		return stopped
	}
	return err
}

// prepare does all that can fail before the first step; it leaves nothing on the disk but empty directories.
func (j *job) prepare(ctx context.Context) (err error) {
	if j.text, err = loadText(j.path); err != nil {
		return hintCommand(j.path, err)
	}
	if j.resumed != nil {
		if err := j.resumed.checkText(j.text); err != nil {
			return err
		}
	}
	for _, part := range []func() error{j.openRun, j.tokenize, j.checkSize, j.makeTrainer} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := part(); err != nil {
			return err
		}
	}
	return j.sayPlan(ctx)
}

// openRun makes or finds the run directory, to know that it can be written before the work begins.
func (j *job) openRun() (err error) {
	dir := j.settings.Train.OutDir
	switch {
	case j.resumed != nil:
		j.run, err = checkpoint.Resume(j.resumed.dir)
	case dir == "":
		j.run, err = checkpoint.Create("runs", checkpoint.NameFor(j.text.Name))
	default:
		j.run, err = checkpoint.CreateAt(dir, false)
		if errors.As(err, new(*checkpoint.RunExistsError)) && j.force {
			j.replaces, err = true, nil
		}
	}
	return err
}

// tokenize encodes and splits the text. Without evaluation all of it is for training.
func (j *job) tokenize() error {
	var err error
	if j.tokenizer, err = j.makeTokenizer(); err != nil {
		return err
	}
	tokens, err := j.text.encode(j.tokenizer)
	if err != nil {
		return err
	}
	fraction := data.DefaultValidation
	if j.settings.Train.EvalInterval == 0 {
		fraction = 0
	}
	j.training, j.validation, err = data.Split(tokens, fraction, j.settings.Model.BlockSize)
	if err != nil {
		return j.text.error(err)
	}
	if err := j.chooseBatch(); err != nil {
		return err
	}
	j.settings.convertEpochs(len(j.training))
	if j.resumed != nil {
		return j.resumed.check(j.settings)
	}
	return j.newCheckpoint()
}

// chooseBatch settles --batch-size auto.
func (j *job) chooseBatch() error {
	if j.settings.Batch.BatchSize != autoBatch {
		return nil
	}
	batch, err := j.demand().auto(len(j.training)/j.settings.Model.BlockSize, j.free())
	j.settings.Batch.BatchSize = batchSize(batch)
	return err
}

// checkSize refuses, before anything is made, what the machine cannot train.
func (j *job) checkSize() error {
	return j.demand().check(int(j.settings.Batch.BatchSize), j.free(), j.resumed != nil)
}

// demand counts the text and its tokens too.
func (j *job) demand() *demand {
	const tokenBytes = 4
	d := newDemand(j.settings.config(j.tokenizer.VocabSize()), j.settings)
	d.beside += float64(len(j.text.Bytes) + tokenBytes*(len(j.training)+len(j.validation)))
	return d
}

// makeTokenizer returns that of the run, or a new one.
func (j *job) makeTokenizer() (data.Tokenizer, error) {
	if j.resumed == nil {
		return j.text.newTokenizer(j.settings.Model.Tokenizer)
	}
	return data.LoadTokenizer(j.resumed.checkpoint.TokenizerFiles[data.TokenizerFile])
}

// newCheckpoint makes the checkpoint of a new run, still without weights.
func (j *job) newCheckpoint() error {
	tok := j.tokenizer
	files, err := data.Files(tok, j.settings.Model.BlockSize)
	if err != nil {
		return err
	}
	j.checkpoint = &checkpoint.Checkpoint{
		Config: j.settings.config(tok.VocabSize()), EndOfText: tok.EndOfText(), TokenizerFiles: files,
		State: &checkpoint.State{TextSHA256: j.text.SHA256, TextBytes: int64(len(j.text.Bytes))},
	}
	return nil
}

// makeTrainer makes the model and its trainer, where the checkpoint left them.
func (j *job) makeTrainer() (err error) {
	if j.resumed != nil {
		j.checkpoint = j.resumed.checkpoint
	}
	settings := j.settings.texts()
	if settings[textSetting], err = j.text.setting(); err != nil {
		return err
	}
	j.checkpoint.State.Settings = settings
	gpt, err := layers.NewGPT(j.checkpoint.Config, layers.Float32)
	if err != nil {
		return err
	}
	gpt.Init(j.settings.Train.Seed)
	j.model = generate.New(gpt, j.tokenizer)
	validation := j.validation
	if len(validation) == 0 {
		validation = nil
	}
	if j.trainer, err = train.NewTrainer(gpt, j.training, validation, j.settings.options()); err != nil {
		return err
	}
	if j.resumed != nil {
		return j.trainer.Restore(j.checkpoint)
	}
	return nil
}

// loop trains, from the first file written to the last.
func (j *job) loop(ctx context.Context) (result train.Result, err error) {
	if j.replaces {
		if j.run, err = checkpoint.CreateAt(j.settings.Train.OutDir, true); err != nil {
			return result, err
		}
	}
	j.run.Keep = j.settings.Train.Keep
	if err := j.writeSettings(); err != nil {
		return result, err
	}
	at := j.checkpoint.State.MetricsBytes
	if j.trainer.Done() == 0 {
		at = 0 // the loop begins with step 0 again
	}
	m, err := metrics.OpenWriter(j.run.File(checkpoint.MetricsFile), at)
	if err != nil {
		return result, err
	}
	tokens, bytes := j.measured()
	j.report = newReporter(j.err, j.trainer.Done(), j.settings.Train.MaxIters)
	l := &train.Loop{
		Trainer: j.trainer, Dir: j.run, Metrics: m, Checkpoint: j.checkpoint,
		Intervals: j.settings.intervals(), Report: j.report,
		ValidationTokens: tokens, ValidationBytes: bytes,
		Sample: j.sample,
	}
	result, err = l.Run(ctx)
	j.report.end()
	return result, errors.Join(j.explain(err), m.Close())
}

// sample writes a text on the way. A model that cannot write one is no reason to stop: if its numbers are
// not finite any more, the next step says more about it.
func (j *job) sample(ctx context.Context) (string, error) {
	text, err := j.model.Text(ctx, "", shortText(j.settings))
	if err != nil && ctx.Err() == nil {
		return fmt.Sprintf("(none: %v)", err), nil
	}
	return text, err
}

// writeSettings keeps the settings in the run directory, in a form that --config reads.
func (j *job) writeSettings() error {
	text, err := j.settings.file()
	if err != nil {
		return err
	}
	path := j.run.File(checkpoint.SettingsFile)
	if err = os.WriteFile(path+".new", text, 0o644); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		os.Remove(path + ".new") // it may not be there
	}
	return err
}

// measured returns the number of tokens that the validation loss is of, and of the bytes that they spell;
// without validation part, those of the training part.
func (j *job) measured() (tokens, bytes int64) {
	part := j.validation
	if len(part) == 0 {
		part = j.training
	}
	return int64(len(part) - 1), tokenBytes(j.tokenizer, part[1:])
}

// shortText are the options of a sample on the way, finalText those of the text at the end.
func shortText(s settings) generate.Options {
	o := generate.Defaults()
	o.Seed = s.Train.Seed
	return o
}

func finalText(s settings) generate.Options {
	o := shortText(s)
	o.MaxNewTokens *= 2
	return o
}
