// Command opticks trains on a text as train-tiny does and leaves in a directory what a second
// implementation needs to make the same run: the checkpoint of step 0, the batches of every step, the
// validation tokens, and our losses. ../follow.py is that second implementation.
//
// Usage: go run ./internal/peers/opticks -out DIR [-seed N] [-steps N] [FILE]
//
// FILE defaults to Newton's Opticks from the Go distribution.
package main

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gorgonia.org/tensor"

	"tinylm/data"
	"tinylm/layers"
	"tinylm/train"
	"tinylm/train/checkpoint"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "directory to write, new or empty")
	seed := flag.Int64("seed", 1, "of the weights and the batches")
	steps := flag.Int("steps", 2000, "training steps")
	flag.Parse()
	file := flag.Arg(0)
	if file == "" {
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			log.Fatal("opticks: go env GOROOT: ", err)
		}
		file = filepath.Join(strings.TrimSpace(string(root)), "src/testdata/Isaac.Newton-Opticks.txt")
	}
	if *out == "" {
		log.Fatal("opticks: -out DIR is required")
	}
	if err := run(*out, file, *seed, *steps); err != nil {
		log.Fatal("opticks: ", err)
	}
}

// record is what the run was and what it gave: run.json.
type record struct {
	Seed        int64     `json:"seed"`
	Steps       int       `json:"steps"`
	Batch       int       `json:"batch"`
	Block       int       `json:"block"`
	Losses      []float64 `json:"losses"`     // of each step, before its update
	Rates       []float64 `json:"rates"`      // learning rate of each step
	Norms       []float64 `json:"grad_norms"` // before clipping
	Validation  []float64 `json:"validation"` // at ValidAt steps
	ValidAt     []int     `json:"validation_at"`
	Beta1       float64   `json:"beta1"`
	Beta2       float64   `json:"beta2"`
	Epsilon     float64   `json:"epsilon"`
	WeightDecay float64   `json:"weight_decay"`
	Clip        float64   `json:"clip"`
}

func run(out, file string, seed int64, steps int) error {
	text, err := data.Load(file)
	if err != nil {
		return err
	}
	tok, err := data.NewChar(text.Bytes)
	if err != nil {
		return err
	}
	ids, err := tok.Encode(text.Bytes)
	if err != nil {
		return err
	}
	config := layers.Config{Layers: 4, Heads: 4, Width: 128, Context: 64, Vocab: tok.VocabSize()}
	training, validation, err := data.Split(ids, data.DefaultValidation, config.Context)
	if err != nil {
		return err
	}
	model, err := layers.NewGPT(config, tensor.Float32)
	if err != nil {
		return err
	}
	model.Init(seed)
	o := train.Defaults()
	o.MaxIters, o.Seed = steps, seed
	trainer, err := train.NewTrainer(model, training, validation, o)
	if err != nil {
		return err
	}
	if err := saveStart(out, trainer, tok, text); err != nil {
		return err
	}
	if err := writeInts(filepath.Join(out, "validation.i32"), validation); err != nil {
		return err
	}
	return follow(out, trainer, training, o, config.Context)
}

// saveStart writes the checkpoint of step 0 as a run would.
func saveStart(out string, t *train.Trainer, tok data.Tokenizer, text data.Text) error {
	r, err := checkpoint.CreateAt(out, false)
	if err != nil {
		return err
	}
	files, err := data.Files(tok, t.Model.Config.Context)
	if err != nil {
		return err
	}
	c := &checkpoint.Checkpoint{
		EndOfText: tok.EndOfText(), TokenizerFiles: files,
		State: &checkpoint.State{TextSHA256: text.SHA256, TextBytes: int64(len(text.Bytes))},
	}
	if err := t.Snapshot(c); err != nil {
		return err
	}
	_, err = r.Save(c, false)
	return err
}

// follow trains, writing each batch as rows of Block+1 tokens beside the losses.
func follow(out string, t *train.Trainer, training []int32, o train.Options, block int) error {
	f, err := os.Create(filepath.Join(out, "batches.i32"))
	if err != nil {
		return err
	}
	defer f.Close()
	again, err := data.NewSampler(training, block, o.Batch, o.Seed) // the same order as the trainer's own
	if err != nil {
		return err
	}
	r := record{Seed: o.Seed, Steps: o.MaxIters, Batch: o.Batch, Block: block,
		Beta1: o.Beta1, Beta2: o.Beta2, Epsilon: o.Epsilon, WeightDecay: o.WeightDecay, Clip: o.Clip}
	var b data.Batch
	for n := range o.MaxIters {
		if n%200 == 0 {
			if err := validate(&r, t); err != nil {
				return err
			}
		}
		again.Next(&b)
		for i := range b.B {
			row := append(b.Inputs[i*block:(i+1)*block:(i+1)*block], b.Targets[(i+1)*block-1])
			if err := binary.Write(f, binary.LittleEndian, row); err != nil {
				return err
			}
		}
		s, err := t.Step()
		if err != nil {
			return err
		}
		r.Losses, r.Rates, r.Norms = append(r.Losses, s.Loss), append(r.Rates, s.Rate), append(r.Norms, s.Norm)
	}
	if err := validate(&r, t); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "run.json"), text, 0o644)
}

func validate(r *record, t *train.Trainer) error {
	e, err := t.Evaluate()
	if err != nil {
		return err
	}
	fmt.Printf("seed %d step %d validation %.4f (%d tokens)\n", r.Seed, t.Done(), e.Loss, e.Tokens)
	r.Validation, r.ValidAt = append(r.Validation, e.Loss), append(r.ValidAt, t.Done())
	return nil
}

func writeInts(path string, ids []int32) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := binary.Write(f, binary.LittleEndian, ids); err != nil {
		return err
	}
	return f.Close()
}
