package train

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/data"
	"tinylm/internal/device/cpu"
	"tinylm/internal/device/cpu/simd"
	"tinylm/layers"
	"tinylm/train/checkpoint"
)

// small is a model that trains in milliseconds.
var small = layers.Config{Layers: 2, Heads: 2, Width: 32, Context: 16, Vocab: 20, Dropout: 0.1}

func newModel(t *testing.T, c layers.Config) *layers.GPT {
	t.Helper()
	m, err := layers.NewGPT(c, tensor.Float32)
	if err != nil {
		t.Fatal(err)
	}
	m.Init(7)
	return m
}

// randomTokens are independent and uniform in 0..vocab-1.
func randomTokens(n, vocab int) []int32 {
	r := rand.New(rand.NewPCG(11, 12))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(r.IntN(vocab))
	}
	return ids
}

func smallOptions(steps int) Options {
	o := Defaults()
	o.Batch, o.MaxIters, o.Warmup, o.Seed = 4, steps, 150, -3
	return o
}

// newSmall makes a trainer of the small model on a device with that many workers.
func newSmall(t *testing.T, workers int, o Options) *Trainer {
	t.Helper()
	tr, err := newTrainer(newModel(t, small), randomTokens(2000, small.Vocab), randomTokens(300, small.Vocab), o, cpu.New(workers))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func steps(t *testing.T, tr *Trainer, n int) []float64 {
	t.Helper()
	var losses []float64
	for range n {
		s, err := tr.Step()
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, s.Loss, s.Norm)
	}
	return losses
}

func weights(tr *Trainer) []float32 { return tr.Model.Params().Flat32() }

// The same seed gives the same bits on any number of workers, evaluation included.
func TestSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	one := newSmall(t, 1, smallOptions(30))
	losses := steps(t, one, 30)
	e, err := one.Evaluate()
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{2, 3, 8} {
		many := newSmall(t, workers, smallOptions(30))
		if got := steps(t, many, 30); !slices.Equal(got, losses) {
			t.Errorf("%d workers: losses differ from those of one", workers)
		}
		if !slices.Equal(weights(many), weights(one)) {
			t.Errorf("%d workers: weights differ from those of one", workers)
		}
		if got, err := many.Evaluate(); err != nil || got != e {
			t.Errorf("%d workers: evaluation %v, %v; want %v", workers, got, err, e)
		}
	}
}

// TestSetsAgree trains 100 steps on each set of kernels that this machine has, and on plain Go: sums are rounded in
// another order, so the losses (not the gradients' norms between them) part, slowly.
func TestSetsAgree(t *testing.T) {
	run := func(set *simd.Set) []float64 {
		o := smallOptions(100)
		tr, err := newTrainer(newModel(t, small), randomTokens(2000, small.Vocab), nil, o, cpu.NewWith(2, set))
		if err != nil {
			t.Fatal(err)
		}
		return steps(t, tr, 100)
	}
	plain := run(nil)
	for _, set := range simd.Sets() {
		for i, got := range run(set) {
			if want := plain[i]; i%2 == 0 && math.Abs(got-want) > 2e-6*math.Abs(want) {
				t.Fatalf("%s, step %d: %v; plain Go has %v", set.Name, i/2+1, got, want)
			}
		}
	}
}

// 200 steps in one go end at the same bits as 100, a checkpoint on disk, and 100 more in another process's
// place: dropout, warm-up, decay and data order all go on. The second half runs on other workers.
func TestResumeIsExact(t *testing.T) {
	straight := newSmall(t, 2, smallOptions(200))
	want := steps(t, straight, 200)

	first := newSmall(t, 2, smallOptions(200))
	got := steps(t, first, 100)
	dir := saveAndOpen(t, first)
	second := newSmall(t, 3, smallOptions(200))
	if err := second.Restore(dir); err != nil {
		t.Fatal(err)
	}
	if second.Done() != 100 {
		t.Fatalf("restored at step %d", second.Done())
	}
	got = append(got, steps(t, second, 100)...)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("step %d: %v after a resume, %v straight", i/2+1, got[i], want[i])
		}
	}
	if !slices.Equal(weights(second), weights(straight)) {
		t.Error("final weights differ")
	}
}

func saveAndOpen(t *testing.T, tr *Trainer) *checkpoint.Checkpoint {
	t.Helper()
	r, err := checkpoint.CreateAt(filepath.Join(t.TempDir(), "run"), false)
	if err != nil {
		t.Fatal(err)
	}
	c := emptyCheckpoint(t)
	if err := tr.Snapshot(c); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Save(c, false); err != nil {
		t.Fatal(err)
	}
	back, notice, err := checkpoint.Open(r.Path)
	if err != nil || notice != "" {
		t.Fatal(notice, err)
	}
	return back
}

// emptyCheckpoint is what the small model's checkpoints have in common.
func emptyCheckpoint(t *testing.T) *checkpoint.Checkpoint {
	t.Helper()
	text := make([]byte, small.Vocab-1)
	for i := range text {
		text[i] = byte('a' + i)
	}
	tok, err := data.NewChar(text)
	if err != nil {
		t.Fatal(err)
	}
	files, err := data.Files(tok, small.Context)
	if err != nil {
		t.Fatal(err)
	}
	hash := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	return &checkpoint.Checkpoint{EndOfText: tok.EndOfText(), TokenizerFiles: files,
		State: &checkpoint.State{TextSHA256: hash, ValLoss: math.NaN(), BestValLoss: math.NaN()}}
}

// letCopy binds a copy of a parameter's value to its node.
func letCopy(n *gorgonia.Node) error {
	return gorgonia.Let(n, n.Value().(*tensor.Dense).Clone().(*tensor.Dense))
}

// A batch of 8 and two micro-batches of 4 are the same step up to rounding: gradients are averaged over
// tokens, and dropout counts samples in the whole batch.
func TestAccumulationAveragesOverTokens(t *testing.T) {
	whole, parts := smallOptions(20), smallOptions(20)
	whole.Batch, parts.Batch, parts.Accum = 8, 4, 2
	a, b := newSmall(t, 2, whole), newSmall(t, 2, parts)
	la, lb := steps(t, a, 20), steps(t, b, 20)
	for i := range la {
		if math.Abs(la[i]-lb[i]) > 1e-5*la[i] {
			t.Errorf("step %d: %v whole, %v in parts", i/2+1, la[i], lb[i])
		}
	}
	var diff, norm float64
	for i, w := range weights(a) {
		d := float64(w - weights(b)[i])
		diff, norm = diff+d*d, norm+float64(w)*float64(w)
	}
	if r := math.Sqrt(diff / norm); r > 1e-6 {
		t.Errorf("weights differ by %.1e of their norm", r)
	}
}

// Micro-batches of 2 and 6 counted tokens weigh 2 to 6: with the embedding of one token raised, the loss is
// the mean over tokens, not the mean of the two means.
func TestLossIsTheTokenMean(t *testing.T) {
	tr := newSmall(t, 1, func() Options { o := smallOptions(1); o.Accum = 2; return o }())
	p := tr.Model.Params()
	clear(p.Flat32())
	set := func(name string, v float32) { // element 0
		if err := p.Load(name, mustGet(t, p, name).Shape, append([]float32{v}, make([]float32, mustGet(t, p, name).Len()-1)...)); err != nil {
			t.Fatal(err)
		}
	}
	set("transformer.ln_f.bias", 1)
	set("transformer.wte.weight", 2) // the logit of token 0 is 2, of all others 0
	micro := 0
	tr.next = func(b *data.Batch) {
		for i := range b.Targets {
			b.Targets[i] = data.IgnoreIndex
		}
		for i := range []int{2, 6}[micro] {
			b.Targets[i] = int32(micro)
		}
		micro++
	}
	s, err := tr.Step()
	if err != nil {
		t.Fatal(err)
	}
	want := math.Log(math.Exp(2)+float64(small.Vocab)-1) - 2*2.0/8
	if s.Tokens != 8 || math.Abs(s.Loss-want) > 1e-6 {
		t.Errorf("loss %v over %d tokens, want %v over 8", s.Loss, s.Tokens, want)
	}
}

func mustGet(t *testing.T, p *layers.Parameters, name string) layers.Parameter {
	t.Helper()
	w, err := p.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A step whose loss or gradient is not finite changes nothing and says where it began.
func TestNonFiniteStopsBeforeTheUpdate(t *testing.T) {
	o := smallOptions(200)
	o.LearningRate, o.MinLR, o.Warmup, o.Clip = 1e30, 0, 0, 0
	tr := newSmall(t, 2, o)
	var before []float32
	for range 200 {
		before = slices.Clone(weights(tr))
		done := tr.Done()
		_, err := tr.Step()
		if err == nil {
			continue
		}
		var bad *NonFiniteError
		if !errors.As(err, &bad) {
			t.Fatalf("%v; want a *NonFiniteError", err)
		}
		if bad.Step != done+1 || tr.Done() != done || bad.Node == "" || len(bad.Batch) != small.Context {
			t.Errorf("after %d steps: %+v", done, bad)
		}
		if !slices.Equal(weights(tr), before) {
			t.Error("the failed step changed weights")
		}
		for i, w := range before {
			if !finite(float64(w)) {
				t.Fatalf("weight %d was %v before the step that failed", i, w)
			}
		}
		return
	}
	t.Fatal("a learning rate of 1e30 went unnoticed for 200 steps")
}

// Probe times steps and changes nothing.
func TestProbeChangesNothing(t *testing.T) {
	a, b := newSmall(t, 2, smallOptions(10)), newSmall(t, 2, smallOptions(10))
	if d, err := a.Probe(t.Context(), 2); err != nil || d <= 0 {
		t.Fatal(d, err)
	}
	if !slices.Equal(steps(t, a, 10), steps(t, b, 10)) || !slices.Equal(weights(a), weights(b)) {
		t.Error("a probe changed the run")
	}
}

// The causal mask holds: uniform random text cannot be predicted, so the validation loss stays at its
// entropy; a model that sees the next token (the control) soon knows it.
func TestRandomTextIsNotLearned(t *testing.T) {
	const symbols = 64
	entropy := math.Log(symbols)
	ids := randomTokens(40_000, symbols)
	training, validation, err := data.Split(ids, data.DefaultValidation, 32)
	if err != nil {
		t.Fatal(err)
	}
	for _, causal := range []bool{true, false} {
		m := newModel(t, layers.Config{Layers: 2, Heads: 2, Width: 64, Context: 32, Vocab: symbols + 1})
		m.Causal = causal
		o := Defaults()
		o.MaxIters, o.Warmup, o.LearningRate, o.MinLR = 300, 20, 3e-3, 3e-4
		tr, err := NewTrainer(m, training, validation, o)
		if err != nil {
			t.Fatal(err)
		}
		steps(t, tr, o.MaxIters)
		e, err := tr.Evaluate()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("causal %v: validation loss %.4f, entropy %.4f", causal, e.Loss, entropy)
		if causal && e.Loss < entropy-0.02 {
			t.Errorf("validation loss %v is below the entropy %v of the text: the model sees the future", e.Loss, entropy)
		}
		if !causal && e.Loss > 3 {
			t.Errorf("control without mask: validation loss %v, want below 3", e.Loss)
		}
	}
}

// The loss over a text whose every token has the same cost is that cost, whatever the windows.
func TestEvaluateCountsEveryTokenOnce(t *testing.T) {
	m := newModel(t, small)
	clear(m.Params().Flat32())
	for _, n := range []int{2, 16, 17, 18, 100, 333} {
		e, err := Evaluate(m, randomTokens(n, small.Vocab), 0, 3)
		if err != nil {
			t.Fatal(err)
		}
		if e.Tokens != n-1 || math.Abs(e.Loss-math.Log(float64(small.Vocab))) > 1e-6 {
			t.Errorf("%d tokens: %+v, want ln %d over %d", n, e, small.Vocab, n-1)
		}
	}
}

// A steady training step allocates nothing, on two threads and on one. MemStats counts every goroutine.
func TestSteadyStepAllocatesNothing(t *testing.T) {
	for _, workers := range []int{2, 1} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
		tr := newSmall(t, workers, smallOptions(1010))
		steps(t, tr, 5)
		least := uint64(math.MaxUint64) // of ten tries: the runtime itself allocates now and then
		for try := 0; try < 10 && least > 0; try++ {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 100 {
				if _, err := tr.Step(); err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least > 0 {
			t.Errorf("%d workers: 100 steps made %d allocations", workers, least)
		}
	}
}

func TestOptionsValidate(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"--batch-size": func(o *Options) { o.Batch = 0 }, "--grad-accum": func(o *Options) { o.Accum = 0 },
		"--max-iters": func(o *Options) { o.MaxIters = 0 }, "--learning-rate": func(o *Options) { o.LearningRate = math.NaN() },
		"--min-lr": func(o *Options) { o.MinLR = 1 }, "--warmup-iters": func(o *Options) { o.Warmup = -1 },
		"--weight-decay": func(o *Options) { o.WeightDecay = -1 }, "--beta1": func(o *Options) { o.Beta1 = 1 },
		"--beta2": func(o *Options) { o.Beta2 = 1 }, "--grad-clip": func(o *Options) { o.Clip = math.NaN() },
		"--time": func(o *Options) { o.Time = -1 },
	} {
		o := Defaults()
		change(&o)
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v; want an error naming it", name, err)
		}
	}
	if err := Defaults().Validate(); err != nil {
		t.Error(err)
	}
}
