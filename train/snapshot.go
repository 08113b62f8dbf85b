package train

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"tinylm/layers"
	"tinylm/train/checkpoint"
)

// Names of the moments in a checkpoint are these before the parameter's.
const (
	firstMoment  = "m."
	secondMoment = "v."
)

// Snapshot fills in what a checkpoint needs of the trainer: weights, moments, step, tokens and the
// position in the data. The tensors share the trainer's memory: save them before the next step.
func (t *Trainer) Snapshot(c *checkpoint.Checkpoint) error {
	if t.Model.Params().DType() != tensor.Float32 {
		return fmt.Errorf("a model of type %v cannot be saved; want float32", t.Model.Params().DType())
	}
	c.Config = t.Model.Config
	c.Weights = tensors("", t.Model.Params())
	c.Moments = slices.Concat(tensors(firstMoment, t.opt.m), tensors(secondMoment, t.opt.v))
	c.State.Step, c.State.Tokens, c.State.Seed = t.step, t.tokens, t.opts.Seed
	c.State.Epoch = t.Epoch()
	c.State.Sampler = t.sampler.State()
	return nil
}

// Restore puts the trainer where a checkpoint of the same settings left off, copying the tensors.
func (t *Trainer) Restore(c *checkpoint.Checkpoint) error {
	if c.State == nil || len(c.Moments) == 0 {
		return fmt.Errorf("%s holds a model but no training state to go on from", c.Path)
	}
	if err := c.LoadInto(t.Model.Params()); err != nil {
		return err
	}
	for _, m := range c.Moments {
		into, name := t.opt.m, strings.TrimPrefix(m.Name, firstMoment)
		if v, ok := strings.CutPrefix(m.Name, secondMoment); ok {
			into, name = t.opt.v, v
		}
		if err := into.Load(name, m.Shape, m.Data); err != nil {
			return err
		}
	}
	t.step, t.tokens = c.State.Step, c.State.Tokens
	return t.sampler.Restore(c.State.Sampler)
}

func tensors(prefix string, p *layers.Parameters) []checkpoint.Tensor {
	var all []checkpoint.Tensor
	for _, w := range p.List() {
		all = append(all, checkpoint.Tensor{
			Name: prefix + w.Name, Shape: w.Shape, Data: p.Flat32()[w.Offset : w.Offset+w.Len()],
		})
	}
	return all
}

// Done returns the number of steps made.
func (t *Trainer) Done() int { return t.step }

// Epoch returns how often the tokens trained on fill the training part.
func (t *Trainer) Epoch() float64 { return float64(t.tokens) / float64(t.trainTokens) }
