package main

import (
	"fmt"
	"strings"

	"tinylm/layers"
	"tinylm/train"
)

// preset is a row of the table of sizes. What it does not name is the same for all: see settings.
type preset struct {
	name                           string
	layers, heads, width, inner    int
	init                           layers.Init
	block                          int
	batch                          batchSize
	iters                          int
	rate, lowest                   float64
	warmup                         int
	dropout                        float64
	evalEvery, saveEvery, logEvery int
}

// presets are the sizes that --size names. The first is the one for a file; sample is the one for the
// built-in text.
var presets = []preset{
	// name, layers, heads, width, inner width (0: four times the width), init; block, batch, steps; rates, warm-up;
	// dropout; steps between eval, save, log
	{defaultSize, 4, 4, 128, 0, layers.InitGPT2, 64, 12, 2000, 1e-3, 1e-4, 100, 0, 250, 500, 50},
	{"nano", 2, 2, 64, 0, layers.InitGPT2, 64, 12, 1000, 2e-3, 2e-4, 50, 0, 100, 250, 50},
	{"small", 6, 6, 384, 0, layers.InitGPT2, 256, 16, 5000, 1e-3, 1e-4, 200, 0.1, 250, 500, 50},
	{sampleSize, 2, 4, 48, 96, layers.InitFanIn, 128, 4, 3600, 1e-2, 2e-4, 180, 0, 300, 900, 100},
}

const (
	defaultSize = "tiny"
	sampleSize  = "sample"
)

// presetSettings returns the settings of a size.
func presetSettings(size string) (settings, error) {
	var names []string
	for _, p := range presets {
		if p.name == size {
			return p.settings(), nil
		}
		names = append(names, p.name)
	}
	return settings{}, fmt.Errorf("--size %q is not one of %s", size, strings.Join(names, ", "))
}

func (p preset) settings() settings {
	o := train.Defaults()
	return settings{
		Model: modelSettings{
			Size: p.name, Tokenizer: "char",
			NLayer: p.layers, NHead: p.heads, NEmbd: p.width, NInner: p.inner, Init: string(p.init), BlockSize: p.block,
			Activation: string(layers.GELUTanh), Bias: true, Dropout: p.dropout,
		},
		Batch: batchSetting{p.batch},
		Train: trainSettings{
			GradAccum: o.Accum, MaxIters: p.iters,
			LearningRate: p.rate, MinLR: p.lowest, WarmupIters: p.warmup,
			WeightDecay: o.WeightDecay, GradClip: o.Clip, Beta1: o.Beta1, Beta2: o.Beta2, Seed: o.Seed,
			EvalInterval: p.evalEvery, SaveInterval: p.saveEvery, LogInterval: p.logEvery, Keep: 2,
		},
	}
}
