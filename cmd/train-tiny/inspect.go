package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"tinylm/data"
	"tinylm/graph"
	"tinylm/layers"
	"tinylm/train/checkpoint"
)

// inspectCmd shows a model, trained or not.
type inspectCmd struct {
	RunDir string        `arg:"" optional:"" name:"run" help:"Directory of a run, of a checkpoint, or of a GPT-2 model of Hugging Face's layout. Without it: the model that the flags describe, with the vocabulary of the built-in sample."`
	Model  modelSettings `embed:""`
	Batch  batchSetting  `embed:""`
	Config string        `name:"config" placeholder:"FILE" help:"JSON file of settings, as train has."`
	DOT    string        `name:"dot" placeholder:"FILE" help:"Draw the graph of the training loss into this file, in Graphviz's language."`
	Grads  bool          `name:"gradients" help:"Draw the gradients too: with --dot."`
	Plan   bool          `name:"plan" help:"Show instead how the machine runs a training step: every kernel in order, where its result lies, and what all take."`
	Time   bool          `name:"time" help:"Show instead where the time of a training step goes: of a few steps on random tokens, the least for each kernel."`
}

// Run is called by the parser.
func (c *inspectCmd) Run(ctx *kong.Context, s *streams) error {
	if c.Grads && c.DOT == "" {
		return usagef("--gradients needs --dot, the file to draw into")
	}
	if c.Plan && c.Time {
		return usagef("--plan and --time are both given; leave one out")
	}
	if err := checkReplace("dot", c.DOT, "drawing", "digraph tinylm {"); err != nil {
		return err
	}
	config, set, err := c.describe(ctx, s)
	if err != nil {
		return err
	}
	batch, err := c.batch(config, set, s.free())
	if err != nil {
		return err
	}
	m, err := layers.NewGPT(config, layers.Float32)
	if err != nil {
		return err
	}
	o := layers.GraphOptions{Composed: set.Model.Composed}
	if c.DOT != "" {
		if err := c.draw(m, batch, o); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if c.Plan {
		err = writePlan(&text, m, batch, o)
	}
	if c.Time && err == nil {
		err = writeTimes(&text, m, set, batch)
	}
	if !c.Plan && !c.Time {
		writeConfig(&text, m.Config)
		writeParameters(&text, m.Params().List())
		err = writeCosts(&text, m, batch, o)
	}
	if err != nil {
		return err
	}
	_, err = s.out.Write(text.Bytes())
	return err
}

// batch is the number of windows to plan for, of a model that can be trained with it.
func (c *inspectCmd) batch(config layers.Config, set settings, free freeMemory) (batch int, err error) {
	d := newDemand(config, set)
	if batch = int(set.Batch.BatchSize); set.Batch.BatchSize == autoBatch {
		if batch, err = d.auto(autoTokens, free); err != nil { // no text limits it
			return 0, err
		}
	}
	return batch, d.check(batch, free, false)
}

// describe returns the configuration of a run's model, or of the one that the flags describe.
func (c *inspectCmd) describe(ctx *kong.Context, s *streams) (layers.Config, settings, error) {
	flags := flagLayer(ctx)
	delete(flags.values, "time") // it says something else here
	if c.RunDir == "" {
		return c.fromFlags(flags)
	}
	for _, name := range sortedKeys(flags.values) {
		if name != "batch-size" && name != "composed" {
			return layers.Config{}, settings{}, usagef("--%s has no effect on the model of a run; leave it out, or leave out %s", name, c.RunDir)
		}
	}
	if c.Config != "" {
		return layers.Config{}, settings{}, usagef("--config has no effect on the model of a run; leave it out, or leave out %s", c.RunDir)
	}
	saved, notice, err := checkpoint.OpenModel(c.RunDir)
	if err != nil {
		return layers.Config{}, settings{}, err
	}
	note(s.err, notice)
	var run layer
	if saved.State != nil {
		run = savedLayer(saved)
	}
	set, err := resolve(defaultSize, run, flags)
	if found, ok := run.values["batch-size"]; ok && err == nil && set.Batch.BatchSize == autoBatch {
		err = set.set("batch-size", found) // as the run goes on with it
	}
	return saved.Config, set, err
}

// fromFlags takes the vocabulary of the built-in sample.
func (c *inspectCmd) fromFlags(flags layer) (layers.Config, settings, error) {
	file, err := fileLayer(c.Config)
	if err != nil {
		return layers.Config{}, settings{}, err
	}
	set, err := resolve(defaultSize, file, flags)
	if err != nil {
		return layers.Config{}, set, err
	}
	sample, err := loadText("")
	if err != nil {
		return layers.Config{}, set, err
	}
	tok, err := sample.newTokenizer(set.Model.Tokenizer)
	if err != nil {
		return layers.Config{}, set, err
	}
	return set.config(tok.VocabSize()).WithDefaults(), set, nil
}

// draw writes the graph of the loss of a batch of windows of the whole context.
func (c *inspectCmd) draw(m *layers.GPT, batch int, o layers.GraphOptions) error {
	g, err := m.TrainGraph(batch, m.Config.Context, o)
	if err != nil {
		return err
	}
	var options []graph.DrawOption
	if c.Grads {
		options = append(options, graph.DrawGradients())
	}
	var text bytes.Buffer
	if err := graph.DOT(&text, g.Graph, options...); err != nil {
		return err
	}
	return os.WriteFile(c.DOT, text.Bytes(), 0o644)
}

func writeConfig(w io.Writer, c layers.Config) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name  string
		value any
	}{
		{"layers", c.Layers}, {"heads", c.Heads}, {"width", c.Width}, {"feed-forward width", c.Inner},
		{"block", c.Context}, {"vocabulary", c.Vocab}, {"activation", c.Activation}, {"bias", !c.NoBias},
		{"output tied to embedding", !c.Untied}, {"dropout", c.Dropout},
	} {
		fmt.Fprintf(t, "%s\t%v\n", row.name, row.value)
	}
	t.Flush()
}

func writeParameters(w io.Writer, list []layers.Parameter) {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "parameter\tshape\tnumbers")
	total := 0
	for _, p := range list {
		total += p.Len()
		fmt.Fprintf(t, "%s\t%v\t%s\n", p.Name, p.Shape, data.Thousands(p.Len()))
	}
	fmt.Fprintf(t, "in all\t\t%s\n", data.Thousands(total))
	t.Flush()
}

// writeCosts says what a training step takes.
func writeCosts(w io.Writer, m *layers.GPT, batch int, o layers.GraphOptions) error {
	flops, err := m.Config.FLOPsPerToken()
	if err != nil {
		return err
	}
	memory, err := m.TrainMemory(batch, m.Config.Context, o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\ntraining  %s million floating-point operations a token\n"+
		"memory    %s on %s: weights %s, gradients %s, moments %s, step %s\n", digitsText(float64(flops)/1e6, 3),
		bytesText(memory.Total()), several(batch, "window"), bytesText(memory.Weights), bytesText(memory.Gradients),
		bytesText(memory.Moments), bytesText(memory.Step))
	return err
}
