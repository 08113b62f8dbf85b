package cpu

import (
	"math"
	"strings"
	"testing"

	"tinylm/internal/device"
)

func TestCrossEntropyReference(t *testing.T) {
	inBoth(t, testCrossEntropyReference[float32], testCrossEntropyReference[float64])
}

func testCrossEntropyReference[F float](t *testing.T) {
	for _, name := range []string{"cross_entropy_mean_ignore", "cross_entropy_large_logits"} {
		c := reference(t, name)
		k := device.CrossEntropy{IgnoreIndex: -100, Mean: true}
		r := lossOf[F](t, k, buf[F](c.Inputs["logits"]), buf[int32](c.Fixed["targets"]), c.Upstream.Data[0])
		wantClose[F](t, name, r.loss, c.Output.Data...)
		wantClose[F](t, name+" dlogits", r.dlogits, c.Grads["logits"].Data...)

		counted := 0.0
		for _, target := range c.Fixed["targets"].Data {
			if target != -100 {
				counted++
			}
		}
		wantClose[F](t, name+" count", r.count, counted)
		k.Mean = false
		r = lossOf[F](t, k, buf[F](c.Inputs["logits"]), buf[int64](c.Fixed["targets"]), c.Upstream.Data[0]/counted)
		wantClose[F](t, name+" sum", r.loss, c.Output.Data[0]*counted)
		wantClose[F](t, name+" dlogits of the sum", r.dlogits, c.Grads["logits"].Data...)
	}
}

type lossResult struct{ loss, count, lse, dlogits device.Buffer }

func lossOf[F float](t *testing.T, k device.CrossEntropy, logits, targets device.Buffer, dloss float64) lossResult {
	t.Helper()
	r := lossResult{nan[F](), nan[F](), nan[F](targets.Len()), nan[F](logits.Shape...)}
	launch(t, k, []device.Buffer{r.loss, r.count, r.lse}, []device.Buffer{logits, targets})
	launch(t, device.CrossEntropyGrad(k), []device.Buffer{r.dlogits},
		[]device.Buffer{logits, targets, r.lse, r.count, bufOf[F]([]int{}, dloss)})
	return r
}

func TestCrossEntropyWithoutTargets(t *testing.T) {
	for _, mean := range []bool{false, true} {
		k := device.CrossEntropy{IgnoreIndex: -100, Mean: mean}
		logits := bufOf[float32]([]int{2, 3}, 1, 2, 3, 4, 5, 6)
		r := lossOf[float32](t, k, logits, bufOf[int64]([]int{2}, -100, -100), 1)
		wantWithin[float32](t, "loss", 0, r.loss, 0)
		wantWithin[float32](t, "count", 0, r.count, 0)
		wantWithin[float32](t, "dlogits", 0, r.dlogits, constant(6, 0)...)
	}
}

// A bad target is refused before anything is written, by the gradient too.
func TestCrossEntropyBadTarget(t *testing.T) {
	logits := bufOf[float32]([]int{2, 2, 3}, constant(12, 1)...)
	targets := bufOf[int32]([]int{2, 2}, 0, 1, 3, -1)
	const want = "target 3 at position [1 0] is outside 0..2"
	loss, count, lse, dlogits := nan[float32](), nan[float32](), nan[float32](4), nan[float32](2, 2, 3)

	err := tryLaunch(device.CrossEntropy{IgnoreIndex: -1}, []device.Buffer{loss, count, lse}, []device.Buffer{logits, targets})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %q", err, want)
	}
	one := bufOf[float32]([]int{}, 1)
	err = tryLaunch(device.CrossEntropyGrad{IgnoreIndex: -1}, []device.Buffer{dlogits},
		[]device.Buffer{logits, targets, bufOf[float32]([]int{4}, 2, 2, 2, 2), one, one})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %q", err, want)
	}
	for _, b := range []device.Buffer{loss, count, lse, dlogits} {
		for i, v := range device.Slice[float32](b) {
			if !math.IsNaN(float64(v)) {
				t.Errorf("an output of shape %v was written at %d", b.Shape, i)
			}
		}
	}
}
