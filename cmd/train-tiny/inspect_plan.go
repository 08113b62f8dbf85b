package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"tinylm/data"
	"tinylm/graph/machine"
	"tinylm/layers"
	"tinylm/train"
)

// writePlan shows how the machine runs a training step.
func writePlan(w io.Writer, m *layers.GPT, batch int, o layers.GraphOptions) error {
	plan, err := m.TrainPlan(batch, m.Config.Context, o)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tkernel\tnode\tshape\tbytes\twhere\tMFLOP")
	for i, s := range plan.Steps {
		fmt.Fprintf(t, "%d\t%s\t%s\t%v\t%s\t%s\t%s\n", i+1, kernelText(s), s.Node, s.Shape, data.Thousands(int(s.Written)),
			placeText(s), megaText(s.FLOPs))
	}
	t.Flush()
	tokens := batch * m.Config.Context
	_, err = fmt.Fprintf(w, "\nnodes     %s in the graph\nsteps     %s\nbuffers   %s in the arena\narena     %s bytes\n"+
		"peak      %s bytes at once\nproducts  %s MFLOP a step, %s a token\n",
		data.Thousands(plan.Nodes), data.Thousands(len(plan.Steps)), data.Thousands(plan.Buffers), data.Thousands(int(plan.Arena)),
		data.Thousands(int(plan.Peak)), megaText(plan.FLOPs()), digitsText(float64(plan.FLOPs())/1e6/float64(tokens), 4))
	return err
}

func kernelText(s machine.Step) string {
	if s.Again {
		return s.Kernel + " (again)"
	}
	return s.Kernel
}

// placeText says where the first result of a step lies: at an offset of the arena, or outside of it, where
// the gradients of the weights are.
func placeText(s machine.Step) string {
	text := "outside"
	if s.Offset >= 0 {
		text = data.Thousands(int(s.Offset))
	}
	if s.InPlace {
		text += ", in place"
	}
	return text
}

// megaText is a number of operations in millions; nothing for none.
func megaText(flops int64) string {
	if flops == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", float64(flops)/1e6)
}

// timedSteps are measured, after one that is not.
const timedSteps = 5

// writeTimes shows where the time of a training step goes: first by kind of kernel, then step by step.
func writeTimes(w io.Writer, m *layers.GPT, set settings, batch int) error {
	p, err := profile(m, set, batch)
	if err != nil {
		return err
	}
	var all []work
	total := work{name: "all kernels"}
	kinds := map[string]work{}
	for i, s := range p.Plan.Steps {
		one := work{kernelText(s), s.Node, 1, p.Took[i], s.FLOPs, s.Read + s.Written}
		all = append(all, one)
		total = total.plus(one)
		kinds[s.Kind()] = kinds[s.Kind()].plus(one)
	}
	whole := total.took + p.Rest
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "kind\tsteps\tms\tshare\tGF/s\tGB/s")
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b].took, kinds[a].took), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(t, "%s\t%d\t%s\n", kind, kinds[kind].steps, kinds[kind].columns(whole))
	}
	fmt.Fprintf(t, "all kernels\t%d\t%s\n", total.steps, total.columns(whole))
	fmt.Fprintf(t, "batch and update\t\t%s\n", work{took: p.Rest}.columns(whole))
	t.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(t, "step\tkernel\tnode\tms\tshare\tGF/s\tGB/s")
	for i, one := range all {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\n", i+1, one.name, one.node, one.columns(whole))
	}
	t.Flush()
	_, err = fmt.Fprintf(w, "\nstep      %.2f ms, the least of %d on %s of %d random tokens; shares are of the least times of all parts\n",
		milliseconds(p.Whole), timedSteps, several(batch, "window"), m.Config.Context)
	return err
}

// profile measures training steps of the model on random tokens. It changes the weights.
func profile(m *layers.GPT, set settings, batch int) (train.Profile, error) {
	o := set.options()
	o.Batch, o.Accum = batch, 1
	m.Init(o.Seed)
	r := rand.New(rand.NewPCG(uint64(o.Seed), 0))
	tokens := make([]int32, (timedSteps+1)*batch*m.Config.Context+1)
	for i := range tokens {
		tokens[i] = r.Int32N(int32(m.Config.Vocab))
	}
	t, err := train.NewTrainer(m, tokens, nil, o)
	if err != nil {
		return train.Profile{}, err
	}
	return t.Profile(timedSteps)
}

// work is what one or several steps do, and the time that they take.
type work struct {
	name, node string
	steps      int
	took       time.Duration
	flops      int64
	bytes      int64 // read and written
}

func (a work) plus(b work) work {
	a.steps, a.took, a.flops, a.bytes = a.steps+b.steps, a.took+b.took, a.flops+b.flops, a.bytes+b.bytes
	return a
}

// columns are the time, its share of the whole, and the rates of operations and of memory.
func (a work) columns(whole time.Duration) string {
	rate := func(n int64) string {
		if n == 0 || a.took <= 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", float64(n)/float64(a.took.Nanoseconds()))
	}
	return fmt.Sprintf("%.3f\t%.1f%%\t%s\t%s", milliseconds(a.took), 100*float64(a.took)/float64(max(1, whole)), rate(a.flops), rate(a.bytes))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
