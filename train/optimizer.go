package train

import (
	"math"

	"gorgonia.org/tensor"

	"tinylm/internal/device"
	"tinylm/layers"
)

// optimizer is AdamW (Loshchilov and Hutter 2019) over a model's flat weights: one launch for the tensors
// that decay, one for those that do not.
type optimizer struct {
	m, v     *layers.Parameters // first and second moments, laid out like the weights
	groups   [2]group
	squares  device.Launch // of the gradients, summed into total
	total    []float64
	clipNorm float64
}

// group is a range of the weights with one weight decay. hyper is what the kernel reads: learning
// rate, decay, gradient scale, number of the update.
type group struct {
	hyper  []float64
	launch device.Launch
}

func newOptimizer(d device.Device, weights, grads *layers.Parameters, o Options) (*optimizer, error) {
	opt := &optimizer{m: weights.Like(), v: weights.Like(), total: make([]float64, 1), clipNorm: o.Clip}
	k := device.AdamW{Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Epsilon}
	split, end := weights.DecayLen(), weights.Len()
	for i, r := range []struct {
		from, to int
		decay    float64
	}{{0, split, o.WeightDecay}, {split, end, 0}} {
		g := &opt.groups[i]
		g.hyper = []float64{0, r.decay, 0, 0}
		state := []device.Buffer{flat(weights, r.from, r.to), flat(opt.m, r.from, r.to), flat(opt.v, r.from, r.to)}
		in := append(state[:3:3], flat(grads, r.from, r.to), device.Of(g.hyper))
		var err error
		if g.launch, err = d.Prepare(k, state, in); err != nil {
			return nil, err
		}
	}
	var err error
	opt.squares, err = d.Prepare(device.SumSquares{}, []device.Buffer{device.Of(opt.total, []int{}...)},
		[]device.Buffer{flat(grads, 0, end)})
	return opt, err
}

// flat returns elements from..to-1 of the arena as a buffer.
func flat(p *layers.Parameters, from, to int) device.Buffer {
	if p.DType() == tensor.Float64 {
		return device.Of(p.Flat64()[from:to])
	}
	return device.Of(p.Flat32()[from:to])
}

// norm returns the Euclidean norm of the summed gradients divided by the number of tokens, in float64.
func (o *optimizer) norm(tokens float64) (float64, error) {
	err := o.squares()
	return math.Sqrt(o.total[0]) / tokens, err
}

// step makes update number n (from 1) with gradients that are sums over tokens and have norm when
// divided by their number.
func (o *optimizer) step(n int, rate, tokens, norm float64) error {
	scale := 1 / tokens
	if o.clipNorm > 0 {
		scale *= min(1, o.clipNorm/(norm+1e-6))
	}
	for i := range o.groups {
		g := &o.groups[i]
		g.hyper[0], g.hyper[2], g.hyper[3] = rate, scale, float64(n)
		if err := g.launch(); err != nil {
			return err
		}
	}
	return nil
}
