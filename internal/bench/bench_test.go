package bench

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tinylm/graph/machine"
)

// tiny is a shape that takes no time.
var tiny = Shape{"tiny", 2, 2, 8, 16, 3, 11}

// The models have the parameters that PyTorch counts in them.
func TestShapes(t *testing.T) {
	for name, want := range map[string]int{"S": 801_664, "M": 10_672_512, "L": 123_653_376} {
		s, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, n, err := s.Config().ParameterCount(); err != nil || n != want {
			t.Errorf("%s has %d parameters, %v; want %d", name, n, err, want)
		}
	}
	if _, err := Named("XS"); err == nil || err.Error() != `shape "XS" is not one of S, M, L` {
		t.Errorf("error %v for a shape that does not exist", err)
	}
}

func TestMedian(t *testing.T) {
	for want, times := range map[time.Duration][]time.Duration{5: {5}, 7: {9, 7, 1}, 6: {9, 5, 7, 1}} {
		if got := median(times); got != want {
			t.Errorf("the median of %v is %v, want %v", times, got, want)
		}
	}
}

// The figures follow from the times: 20 ms for 1,000 tokens of 2 million operations are 100 GF/s.
func TestStepSum(t *testing.T) {
	r := StepResult{FLOPsPerToken: 2_000_000}
	if err := r.sum([]time.Duration{30 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}, 1000, 400); err != nil {
		t.Fatal(err)
	}
	if r.Steps != 3 || r.MsBest != 10 || r.MsMedian != 20 || r.TokensPerS != 50_000 || r.GFLOPS != 100 || r.PeakGFLOPS != 400 || r.ShareOfPeak != 0.25 {
		t.Errorf("got %+v", r)
	}
	if r.RSSMB < 5 || r.RSSMB > 100_000 {
		t.Errorf("%d MB are resident", r.RSSMB)
	}
}

func TestStep(t *testing.T) {
	r, err := Step(StepOptions{Shape: tiny, Dropout: 0.1, Steps: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Shape != "tiny" || r.Dropout != 0.1 || r.Steps != 2 || r.Threads < 1 || r.ISA == "" {
		t.Errorf("got %+v", r)
	}
	// By hand: of each block 12*8*8 weights in matrices, 9*8 biases and 4*8 in norms; 11*8 embeddings, 2*8 in the last norm.
	if want := 2*(12*64+13*8) + 88 + 16; r.Parameters != want || r.FLOPsPerToken != int64(6*want+6*2*8*16) {
		t.Errorf("%d parameters and %d operations a token; want %d, %d", r.Parameters, r.FLOPsPerToken, want, 6*want+6*2*8*16)
	}
	// The model knows nothing, and the tokens are random.
	if math.Abs(r.Loss-math.Log(11)) > 0.2 {
		t.Errorf("loss %v, want about %v", r.Loss, math.Log(11))
	}
	if r.MsBest > r.MsMedian || r.PeakGFLOPS <= 0 || r.ShareOfPeak <= 0 || r.ShareOfPeak > 1 {
		t.Errorf("got %+v", r)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shape", "ms_best", "ms_median", "tokens_per_s", "gflops", "share_of_peak", "rss_mb", "threads", "isa"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("%v lacks %s", slices.Sorted(maps.Keys(fields)), name)
		}
	}
}

// Both forms of attention that are compared compute the same.
func TestAttentionForms(t *testing.T) {
	a := &attention{AttentionOptions: AttentionOptions{Heads: 2, HeadWidth: 4}, length: 9}
	var results [2][][]float32
	for i, composed := range []bool{false, true} {
		g, err := a.graph(composed, true)
		if err != nil {
			t.Fatal(err)
		}
		m, err := machine.New(g.graph, g.options()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
		for _, n := range g.results {
			results[i] = append(results[i], n.Value().Data().([]float32))
		}
	}
	if len(results[0]) != 2 || len(results[0][0]) != 9*8 || len(results[0][1]) != 9*24 {
		t.Fatalf("the results have %d parts", len(results[0]))
	}
	for part := range results[0] {
		for i, x := range results[0][part] {
			if y := results[1][part][i]; math.Abs(float64(x-y)) > 1e-5 {
				t.Fatalf("result %d, element %d: fused %v, composed %v", part, i, x, y)
			}
		}
	}
}

func TestAttention(t *testing.T) {
	r, err := attentionFor(0, 64, AttentionOptions{Heads: 2, HeadWidth: 8, Composed: true, Tape: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]float64{
		"fused": r.FusedMs, "forward": r.FusedForwardMs, "composed": r.ComposedMs, "its forward": r.ComposedForwardMs,
		"ratio": r.Ratio, "products": r.ProductsMs, "their rate": r.ProductsGFLOPS, "tape": r.TapeMs, "its ratio": r.TapeRatio,
		"projection": r.ProjectionMs, "separate": r.SeparateMs,
	} {
		if !(x > 0) {
			t.Errorf("%s is %v", name, x)
		}
	}
	if want := 0.03; r.WeightsMB != want { // 2*64*64*4 bytes
		t.Errorf("the weights take %v MB, want %v", r.WeightsMB, want)
	}
	if r.ComposedExtraMB < r.WeightsMB {
		t.Errorf("the composed form takes %v MB, its weights alone %v", r.ComposedExtraMB, r.WeightsMB)
	}
	planned, err := attentionFor(0, 64, AttentionOptions{Heads: 2, HeadWidth: 8})
	if err != nil {
		t.Fatal(err)
	}
	if planned.ComposedMs != 0 || planned.TapeMs != 0 || planned.ComposedExtraMB < r.WeightsMB {
		t.Errorf("without the composed form: %+v", planned)
	}
}

// The products are all those with the model's matrices.
func TestProducts(t *testing.T) {
	all, err := productsFor(0, tiny)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 5 {
		t.Fatalf("%d products, want 5", len(all))
	}
	weights := 0
	for i, r := range all {
		if r.N != 48 || !(r.ForwardGFLOPS > 0 && r.DXGFLOPS > 0 && r.DWGFLOPS > 0 && r.ForwardShare <= 1 && r.DXShare <= 1 && r.DWShare <= 1) {
			t.Errorf("got %+v", r)
		}
		if weights += r.K * r.M; i < 4 {
			weights += r.K * r.M // there are two blocks
		}
	}
	if want := 2*12*64 + 88; weights != want {
		t.Errorf("matrices of %d numbers, want %d", weights, want)
	}
}

func TestGenerate(t *testing.T) {
	all, err := generateBeside(tiny, 16, []int{1, 8, 15}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range []int{1, 8, 15} {
		r := all[i]
		if r.Position != p || r.Context != 16 || !(r.MsPerToken > 0 && r.BandwidthGBS > 0 && r.GBPerS > 0) || r.Share != 0 {
			t.Errorf("got %+v", r)
		}
	}
	if _, err := generateBeside(tiny, 3, []int{1, 2}, 1<<20); err != nil {
		t.Error(err)
	}
}

func TestPeak(t *testing.T) {
	if rate, err := Peak(2); err != nil || !(rate > 0.1 && rate < 1e5) {
		t.Errorf("peak %v GF/s, %v", rate, err)
	}
	if rate, err := bandwidth(2, 1<<20, 2); err != nil || !(rate > 0.1 && rate < 1e5) {
		t.Errorf("bandwidth %v GB/s, %v", rate, err)
	}
}

// The loops in plain Go do what is counted.
func TestPlainLoops(t *testing.T) {
	var count, sum float32
	plainMultiplyAdds(1000, &count)
	if want := float32(1000 * plainTurn); count != want {
		t.Errorf("%v multiply-adds, want %v", count, want)
	}
	x := make([]float32, 3*plainTurn)
	for i := range x {
		x[i] = float32(i)
	}
	plainRead(3, &x[0], &sum)
	if want := float32(23 * 24 / 2); sum != want {
		t.Errorf("sum %v, want %v", sum, want)
	}
}

func TestFastestTogether(t *testing.T) {
	var calls [3]atomic.Int32
	if took := fastestTogether(3, 4, func(thread int) { calls[thread].Add(1) }); took <= 0 {
		t.Errorf("took %v", took)
	}
	for i := range calls {
		if n := calls[i].Load(); n != 4 {
			t.Errorf("thread %d was called %d times, want 4", i, n)
		}
	}
}
