package cpu

import (
	"math"
	"testing"

	"tinylm/internal/device"
)

func TestSoftmaxReference(t *testing.T) {
	inBoth(t, testSoftmaxReference[float32], testSoftmaxReference[float64])
}

func testSoftmaxReference[F float](t *testing.T) {
	for _, name := range []string{"softmax_last_axis", "softmax_large", "log_softmax"} {
		c := reference(t, name)
		log := name == "log_softmax"
		x := c.Inputs["x"]
		y, dx := nan[F](x.Shape...), nan[F](x.Shape...)
		launch(t, device.Softmax{Log: log}, []device.Buffer{y}, []device.Buffer{buf[F](x)})
		wantClose[F](t, name, y, c.Output.Data...)
		launch(t, device.SoftmaxGrad{Log: log}, []device.Buffer{dx}, []device.Buffer{buf[F](c.Upstream), y})
		wantClose[F](t, name+" dx", dx, c.Grads["x"].Data...)
	}
}

// Logits further apart than exp can hold, and hidden ones. The gradients are y*(dy - sum(dy*y)) by hand.
func TestSoftmaxExtremes(t *testing.T) {
	inBoth(t, testSoftmaxExtremes[float32], testSoftmaxExtremes[float64])
}

func testSoftmaxExtremes[F float](t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ x, y, dx []float64 }{
		{[]float64{1000, 1001, 1002}, []float64{0.0900305732, 0.2447284711, 0.6652409558}, []float64{-0.1418170911, -0.1407703491, 0.2825874402}},
		{[]float64{-1000, -1001, -1002}, []float64{0.6652409558, 0.2447284711, 0.0900305732}, []float64{-0.2825874402, 0.1407703491, 0.1418170911}},
		{[]float64{0, -inf, 0}, []float64{0.5, 0, 0.5}, []float64{-0.5, 0, 0.5}},
		{[]float64{-431, 279, 427}, []float64{0, 0, 1}, []float64{0, 0, 0}},
		{[]float64{-inf, -inf, -inf}, []float64{0, 0, 0}, []float64{0, 0, 0}},
	} {
		y, dx := nan[F](1, 3), nan[F](1, 3)
		launch(t, device.Softmax{}, []device.Buffer{y}, []device.Buffer{bufOf[F]([]int{1, 3}, c.x...)})
		wantWithin[F](t, "softmax", 1e-7, y, c.y...)
		launch(t, device.SoftmaxGrad{}, []device.Buffer{dx}, []device.Buffer{bufOf[F]([]int{1, 3}, 1, 2, 3), y})
		wantWithin[F](t, "dx", 1e-6, dx, c.dx...)
	}
}

func TestSoftmaxNearOverflow(t *testing.T) {
	y := nan[float32](1, 2)
	launch(t, device.Softmax{}, []device.Buffer{y}, []device.Buffer{bufOf[float32]([]int{1, 2}, 89, 0)})
	if got := device.Slice[float32](y); got[0] != 1 || got[1] < 0 || got[1] > 2.3e-39 {
		t.Errorf("softmax of [89 0] is %v, want [1 0] but for 2.3e-39", got)
	}
}

func TestLogSoftmaxOfHiddenRow(t *testing.T) {
	inf := math.Inf(1)
	y := nan[float64](2, 2)
	launch(t, device.Softmax{Log: true}, []device.Buffer{y}, []device.Buffer{bufOf[float64]([]int{2, 2}, -inf, -inf, -inf, 3)})
	if got := device.Slice[float64](y); got[0] != -inf || got[1] != -inf || got[2] != -inf || got[3] != 0 {
		t.Errorf("got %v, want [-Inf -Inf -Inf 0]", got)
	}
}

// A NaN must be seen, not hidden: it is how a fault is traced to its source.
func TestSoftmaxKeepsNaN(t *testing.T) {
	for _, x := range [][]float64{{math.NaN(), 1, 2}, {1, math.NaN(), 2}, {math.NaN(), math.NaN(), math.NaN()}, {math.Inf(-1), math.NaN(), math.Inf(-1)}} {
		y := bufOf[float32]([]int{1, 3}, 0, 0, 0)
		launch(t, device.Softmax{}, []device.Buffer{y}, []device.Buffer{bufOf[float32]([]int{1, 3}, x...)})
		for i, v := range device.Slice[float32](y) {
			if v == v {
				t.Errorf("softmax of %v is %v at %d, want NaN", x, v, i)
			}
		}
	}
}
