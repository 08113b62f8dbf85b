package main

import (
	"fmt"

	"tinylm/layers"
)

// mostLayers take some ten seconds to build. The time grows with their square: Gorgonia looks for a node
// among all others.
const mostLayers = 1000

func errLayers(n int) error {
	return usagef("--n-layer must be at most %d, got %d: the graph of more takes too long to build", mostLayers, n)
}

// demand is what training a model takes, by the number of windows in a batch.
type demand struct {
	config   layers.Config
	composed bool
	sums     bool        // gradients of several batches are added up, in memory of their own
	beside   float64     // bytes of the process that are not planned; see withRest
	model    *layers.GPT // made for the first exact answer
}

func newDemand(c layers.Config, s settings) *demand {
	return &demand{config: c.WithDefaults(), composed: s.Model.Composed, sums: s.Train.GradAccum > 1, beside: processBytes}
}

// processBytes is about what the program itself takes.
const processBytes = 30_000_000

// mostOfFree is how much of the free memory may be used: what the system says is free is never all to be had.
const mostOfFree = 0.95

// withRest returns the memory that must be free for so many bytes that are planned: with the rest of the process
// and a margin. Some of the rest is taken already when the free memory is read, and adds to the margin.
func (d *demand) withRest(planned float64) float64 { return (planned + d.beside) / mostOfFree }

// least returns bounds, in bytes, below what is needed for the weights with all that belongs to them, and for
// a step. It is quick for any size.
func (d *demand) least(batch int) (weights, step float64, err error) {
	weights, step, err = d.config.LeastTrainMemory(batch)
	if d.sums {
		weights += weights / 4 // beside weights, gradients and two moments
	}
	return weights, step, err
}

// exact returns the bytes that are needed as the machine plans them.
func (d *demand) exact(batch int) (need int64, err error) {
	if d.config.Layers > mostLayers {
		return 0, errLayers(d.config.Layers)
	}
	if d.model == nil {
		if d.model, err = layers.NewGPT(d.config, layers.Float32); err != nil {
			return 0, err
		}
	}
	m, err := d.model.TrainMemory(batch, d.config.Context, layers.GraphOptions{Composed: d.composed})
	if need = m.Total(); d.sums {
		need += m.Gradients
	}
	return need, err
}

// fits tells whether so many bytes are enough. The step is planned only if the bounds do not tell.
func (d *demand) fits(batch int, free int64) (bool, error) {
	weights, step, err := d.least(batch)
	switch {
	case err != nil || d.withRest(weights+step) > float64(free):
		return false, err
	case !d.composed && d.withRest(weights+layers.MostOverLeast*step) <= float64(free):
		return true, nil
	}
	need, err := d.exact(batch)
	return d.withRest(float64(need)) <= float64(free), err
}

// largest returns the largest batch that fits, given one that does not; 0 if none does.
func (d *demand) largest(tooLarge int, free int64) (int, error) {
	fit := 0
	for fit+1 < tooLarge {
		middle := fit + (tooLarge-fit)/2
		ok, err := d.fits(middle, free)
		if err != nil {
			return 0, err
		}
		if ok {
			fit = middle
		} else {
			tooLarge = middle
		}
	}
	return fit, nil
}

// autoTokens is how many tokens --batch-size auto puts into a batch at most: from there on the products run at
// full speed, and a larger batch only makes fewer steps of the same text.
const autoTokens = 4096

// auto chooses the batch for a text of so many windows: the largest power of two of at most autoTokens tokens
// that is no more than the text and needs at most half of what is free, if that is known.
func (d *demand) auto(windows int, free freeMemory) (int, error) {
	batch := 1
	for 2*batch <= windows && d.config.Context <= autoTokens/(2*batch) {
		batch *= 2
	}
	for free.known && batch > 1 {
		ok, err := d.fits(batch, free.bytes/2)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		batch /= 2
	}
	return batch, nil
}

// check refuses a model whose training needs more memory than is free, where that is known, and one whose graph
// would take too long to build. fixed says that the batch cannot be another one.
func (d *demand) check(batch int, free freeMemory, fixed bool) error {
	if _, _, err := d.config.ParameterCount(); err != nil {
		return err
	}
	if free.known {
		ok, err := d.fits(batch, free.bytes)
		if err != nil {
			return err
		}
		if !ok {
			return d.refuse(batch, free.bytes, fixed)
		}
	}
	if d.config.Layers > mostLayers {
		return errLayers(d.config.Layers)
	}
	return nil
}

// planWithin bounds what is planned exactly when it is known not to fit: the inputs of a graph take memory too.
const planWithin = 4

// refuse is the error for a batch that does not fit: the need, what is free, and what to do.
func (d *demand) refuse(batch int, free int64, fixed bool) error {
	weights, step, err := d.least(batch)
	if err != nil {
		return err
	}
	need := gigabytes(d.withRest(weights+step)) + " or more"
	if weights+step <= planWithin*float64(free) && d.config.Layers <= mostLayers {
		planned, err := d.exact(batch)
		if err != nil {
			return err
		}
		need = gigabytes(d.withRest(float64(planned)))
	}
	advice, err := d.advice(batch, free, fixed)
	if err != nil {
		return err
	}
	return fmt.Errorf("this model needs %s, %s are free; %s", need, gigabytes(float64(free)), advice)
}

// advice says what would fit.
func (d *demand) advice(batch int, free int64, fixed bool) (string, error) {
	if fixed {
		return fmt.Sprintf("the run was begun with --batch-size %d and goes on with it only", batch), nil
	}
	fit, err := d.largest(batch, free)
	if err != nil {
		return "", err
	}
	if fit > 0 {
		return fmt.Sprintf("--batch-size %d would fit (or --batch-size auto)", fit), nil
	}
	total, withoutPositions, err := d.config.ParameterCount()
	if err != nil {
		return "", err
	}
	weights, _, err := d.least(1)
	if d.withRest(weights/float64(total)*float64(withoutPositions)) > float64(free) {
		return "use a smaller --n-layer or --n-embd", err
	}
	return "use a smaller --block-size", err
}

// gigabytes is an amount of memory with a digit after the point: "31.2 GB", "1.2 TB"; below one gigabyte in
// megabytes.
func gigabytes(n float64) string {
	if n < 0.95e9 {
		return fmt.Sprintf("%.0f MB", n/1e6)
	}
	x, unit := n/1e9, 0
	units := []string{"GB", "TB", "PB", "EB", "ZB", "YB"}
	for x >= 999.95 && unit < len(units)-1 {
		x, unit = x/1000, unit+1
	}
	return fmt.Sprintf("%.1f %s", x, units[unit])
}
