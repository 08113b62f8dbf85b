package main

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"tinylm/layers"
	"tinylm/train"
)

// settings are everything that a run is set up with. Each field is a flag, a key of a --config file, and
// an entry of the settings in a checkpoint, all under the name in its tag.
type settings struct {
	Model modelSettings `embed:""`
	Batch batchSetting  `embed:""`
	Train trainSettings `embed:""`
}

type modelSettings struct {
	Size       string  `name:"size" help:"Preset of all that follows: nano, tiny or small."`
	Tokenizer  string  `name:"tokenizer" help:"What a token is: a byte or a char."`
	NLayer     int     `name:"n-layer" help:"Blocks."`
	NHead      int     `name:"n-head" help:"Attention heads of a block."`
	NEmbd      int     `name:"n-embd" help:"Width: numbers for each token."`
	BlockSize  int     `name:"block-size" help:"Tokens that the model sees at once."`
	NInner     int     `name:"n-inner" help:"Width of the feed-forward layers; 0: 4 times n-embd."`
	Init       string  `name:"init" help:"How weights start: gpt2 (deviation 0.02) or fan_in (1/sqrt of a matrix's inputs)."`
	Activation string  `name:"activation" help:"In the feed-forward layers: gelu_tanh, gelu_exact or relu."`
	Bias       bool    `name:"bias" negatable:"" help:"Projections have a bias."`
	Dropout    float64 `name:"dropout" help:"Share of values dropped in training."`
	Composed   bool    `name:"composed" help:"Build the graph from primitive nodes instead of fused operators."`
}

type batchSetting struct {
	BatchSize batchSize `name:"batch-size" placeholder:"N|auto" help:"Windows in a batch. auto: the largest power of two that makes at most 4,096 tokens, is no more than the text and takes at most half of the free memory; a run keeps the number found."`
}

type trainSettings struct {
	GradAccum    int           `name:"grad-accum" help:"Batches in a step."`
	MaxIters     int           `name:"max-iters" help:"Steps."`
	Epochs       float64       `name:"epochs" help:"Passes over the training part, instead of --max-iters."`
	Time         time.Duration `name:"time" help:"Stop after this time, such as 3m."`
	LearningRate float64       `name:"learning-rate" help:"Highest learning rate."`
	MinLR        float64       `name:"min-lr" help:"Learning rate at the end."`
	WarmupIters  int           `name:"warmup-iters" help:"Steps of rising learning rate."`
	WeightDecay  float64       `name:"weight-decay" help:"AdamW's decay of matrices."`
	GradClip     float64       `name:"grad-clip" help:"Greatest norm of the gradient; 0: any."`
	Beta1        float64       `name:"beta1" help:"AdamW's decay of the mean gradient."`
	Beta2        float64       `name:"beta2" help:"AdamW's decay of the mean squared gradient."`
	Seed         int64         `name:"seed" help:"Of all that is random."`
	EvalInterval int           `name:"eval-interval" help:"Steps between evaluations; 0: none, and all of the text is trained on."`
	SaveInterval int           `name:"save-interval" help:"Steps between checkpoints and samples; 0: only the best and the last."`
	LogInterval  int           `name:"log-interval" help:"Steps between lines of the record; 0: none."`
	Keep         int           `name:"keep" help:"Newest checkpoints that are kept besides the best; 0: all."`
	OutDir       string        `name:"out-dir" placeholder:"DIR" help:"Directory of the run; without it: runs/NAME, NAME from the text."`
}

// each calls do with the name of every setting and a pointer to it.
func (s *settings) each(do func(name string, p any)) {
	groups := reflect.ValueOf(s).Elem()
	for i := range groups.NumField() {
		group := groups.Field(i)
		for j := range group.NumField() {
			do(group.Type().Field(j).Tag.Get("name"), group.Field(j).Addr().Interface())
		}
	}
}

// settingNames are the names of all settings.
func settingNames() []string {
	var names []string
	new(settings).each(func(name string, _ any) { names = append(names, name) })
	return names
}

// texts returns all settings, each as text, by name.
func (s *settings) texts() map[string]string {
	texts := map[string]string{}
	s.each(func(name string, p any) { texts[name] = fmt.Sprint(reflect.ValueOf(p).Elem()) })
	return texts
}

// defaultText is a setting's value in the default preset.
func defaultText(name string) (string, bool) {
	s := presets[0].settings()
	text, ok := s.texts()[name]
	return text, ok
}

// set gives a setting the value that text says. A name that no setting has is an error with the nearest.
func (s *settings) set(name, text string) error {
	var field any
	s.each(func(n string, p any) {
		if n == name {
			field = p
		}
	})
	if field == nil {
		if near := nearest(name, settingNames()); near != "" {
			return fmt.Errorf("unknown key %q; did you mean %q?", name, near)
		}
		return fmt.Errorf("unknown key %q; keys are the names of flags of train-tiny train", name)
	}
	want, err := parse(field, text)
	if err != nil {
		return fmt.Errorf("--%s must be %s, got %q", name, want, text)
	}
	return nil
}

// parse sets *field to the value that text says. It also returns what kind of value is wanted.
func parse(field any, text string) (want string, err error) {
	switch p := field.(type) {
	case *string:
		*p = text
	case *int:
		want = "a whole number"
		*p, err = strconv.Atoi(text)
	case *batchSize:
		want = "a whole number or auto"
		err = p.UnmarshalText([]byte(text))
	case *int64:
		want = "a whole number"
		*p, err = strconv.ParseInt(text, 10, 64)
	case *float64:
		want = "a finite number"
		if *p, err = strconv.ParseFloat(text, 64); err == nil && (math.IsNaN(*p) || math.IsInf(*p, 0)) {
			err = strconv.ErrRange
		}
	case *bool:
		want = "true or false"
		*p, err = strconv.ParseBool(text)
	case *time.Duration:
		want = "a time such as 90s or 3m"
		*p, err = time.ParseDuration(text)
	default:
		return "", fmt.Errorf("settings of type %T cannot be parsed", field)
	}
	return want, err
}

// config is the model, for a vocabulary.
func (s *settings) config(vocab int) layers.Config {
	m := s.Model
	return layers.Config{
		Layers: m.NLayer, Heads: m.NHead, Width: m.NEmbd, Context: m.BlockSize, Vocab: vocab,
		Inner: m.NInner, Init: layers.Init(m.Init), Activation: layers.Activation(m.Activation), NoBias: !m.Bias, Dropout: m.Dropout,
	}
}

// options are those of the optimisation.
func (s *settings) options() train.Options {
	o, t := train.Defaults(), s.Train
	o.Batch, o.Accum, o.MaxIters, o.Time = int(s.Batch.BatchSize), t.GradAccum, t.MaxIters, t.Time
	o.LearningRate, o.MinLR, o.Warmup = t.LearningRate, t.MinLR, t.WarmupIters
	o.WeightDecay, o.Clip, o.Beta1, o.Beta2 = t.WeightDecay, t.GradClip, t.Beta1, t.Beta2
	o.Seed, o.Composed = t.Seed, s.Model.Composed
	return o
}

// intervals are those of the loop; samples come with the checkpoints.
func (s *settings) intervals() train.Intervals {
	t := s.Train
	return train.Intervals{Eval: t.EvalInterval, Save: t.SaveInterval, Log: t.LogInterval, Sample: t.SaveInterval}
}

// validate reports the first setting that cannot be, before any text is read.
func (s *settings) validate() error {
	if k := s.Model.Tokenizer; k != "byte" && k != "char" {
		return fmt.Errorf("--tokenizer %q is not one of byte, char", k)
	}
	const anyVocabulary = 2 // the text will give it
	if err := s.config(anyVocabulary).Validate(); err != nil {
		return err
	}
	o := s.options()
	if s.Batch.BatchSize == autoBatch {
		o.Batch = 1 // or more
	}
	if err := o.Validate(); err != nil {
		return err
	}
	if s.Train.Epochs < 0 {
		return fmt.Errorf("--epochs must not be negative, got %v", s.Train.Epochs)
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"eval-interval", s.Train.EvalInterval}, {"save-interval", s.Train.SaveInterval},
		{"log-interval", s.Train.LogInterval}, {"keep", s.Train.Keep}, {"n-inner", s.Model.NInner},
	} {
		if f.value < 0 {
			return fmt.Errorf("--%s must not be negative, got %d", f.name, f.value)
		}
	}
	return nil
}

// tokensPerStep is the number of tokens that a step is trained on.
func (s *settings) tokensPerStep() float64 {
	return float64(s.Batch.BatchSize) * float64(s.Train.GradAccum) * float64(s.Model.BlockSize)
}

// convertEpochs turns --epochs into --max-iters for a training part of so many tokens.
func (s *settings) convertEpochs(tokens int) {
	if s.Train.Epochs == 0 {
		return
	}
	steps := math.Ceil(s.Train.Epochs * float64(tokens) / s.tokensPerStep())
	s.Train.MaxIters = int(min(max(1, steps), math.MaxInt32))
	s.Train.Epochs = 0
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
