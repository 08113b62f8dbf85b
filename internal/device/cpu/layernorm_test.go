package cpu

import (
	"testing"

	"tinylm/internal/device"
)

func TestLayerNormReference(t *testing.T) {
	inBoth(t, testLayerNormReference[float32], testLayerNormReference[float64])
}

func testLayerNormReference[F float](t *testing.T) {
	for _, name := range []string{"layer_norm", "layer_norm_constant_row", "layer_norm_std_plus_eps"} {
		c := reference(t, name)
		k := device.LayerNorm{Eps: c.Attrs["eps"].(float64), StdPlusEps: name == "layer_norm_std_plus_eps"}
		n := normed[F](t, k, c.Inputs["x"], c.Inputs["weight"], c.Inputs["bias"], c.Upstream)
		wantClose[F](t, name, n.y, c.Output.Data...)
		wantClose[F](t, name+" dx", n.dx, c.Grads["x"].Data...)
		if name == "layer_norm_constant_row" { // dweight is 0; PyTorch's value is rounding, below 1e-13
			wantWithin[F](t, name+" dweight", 1e-12, n.dweight, c.Grads["weight"].Data...)
		} else {
			wantClose[F](t, name+" dweight", n.dweight, c.Grads["weight"].Data...)
		}
		wantClose[F](t, name+" dbias", n.dbias, c.Grads["bias"].Data...)
	}
}

type normResult struct{ y, dx, dweight, dbias device.Buffer }

func normed[F float](t *testing.T, k device.LayerNorm, x, weight, bias, dy refTensor) normResult {
	t.Helper()
	rows, cols := splitLast(x.Shape)
	r := normResult{nan[F](x.Shape...), nan[F](x.Shape...), nan[F](cols), nan[F](cols)}
	mean, rstd := nan[F](rows), nan[F](rows)
	launch(t, k, []device.Buffer{r.y, mean, rstd}, []device.Buffer{buf[F](x), buf[F](weight), buf[F](bias)})
	launch(t, device.LayerNormGrad{Eps: k.Eps, StdPlusEps: k.StdPlusEps}, []device.Buffer{r.dx, r.dweight, r.dbias},
		[]device.Buffer{buf[F](x), buf[F](weight), mean, rstd, buf[F](dy)})
	return r
}

// The biased variance with epsilon inside the root: published values, and what the wrong forms give is
// far from them.
func TestLayerNormValues(t *testing.T) {
	inBoth(t, testLayerNormValues[float32], testLayerNormValues[float64])
}

func testLayerNormValues[F float](t *testing.T) {
	for _, c := range []struct{ x, dy, y, dx []float64 }{
		{x: []float64{1, 0, 0, 0}, y: []float64{1.73200462, -0.577334874, -0.577334874, -0.577334874}},
		{
			x: []float64{1, 2, 3, 4}, y: []float64{-1.34163542, -0.447211807, 0.447211807, 1.34163542},
			dy: []float64{1, 0, 0, 0}, dx: []float64{0.268330304, -0.357768372, -0.0894434346, 0.178881503},
		},
		{x: []float64{0.001, -0.001}, y: []float64{0.301511345, -0.301511345}},
		{
			x: []float64{5, 5, 5, 5}, y: []float64{0, 0, 0, 0},
			dy: []float64{1, 2, 3, 4}, dx: []float64{-474.341649, -158.113883, 158.113883, 474.341649},
		},
		{x: constant(256, 1234), y: constant(256, 0)},
	} {
		n := len(c.x)
		dy := refTensor{[]int{1, n}, constant(n, 1)}
		if c.dy != nil {
			dy.Data = c.dy
		}
		r := normed[F](t, device.LayerNorm{Eps: 1e-5}, refTensor{[]int{1, n}, c.x},
			refTensor{[]int{n}, constant(n, 1)}, refTensor{[]int{n}, constant(n, 0)}, dy)
		wantWithin[F](t, "y", 1e-6, r.y, c.y...)
		if c.dx != nil {
			wantWithin[F](t, "dx", 1e-6*max(1, largest(c.dx)), r.dx, c.dx...)
		}
	}
}

// The mean of equal float32 values is that value even where their sum is not a float32.
func TestLayerNormOfEqualValues(t *testing.T) {
	r := normed[float32](t, device.LayerNorm{Eps: 1e-5}, refTensor{[]int{1, 7}, constant(7, 1234.1)},
		refTensor{[]int{7}, constant(7, 1)}, refTensor{[]int{7}, constant(7, 0.5)}, refTensor{[]int{1, 7}, constant(7, 1)})
	wantWithin[float32](t, "y", 0, r.y, constant(7, 0.5)...)
	wantWithin[float32](t, "dx", 0, r.dx, constant(7, 0)...)
}

func TestLayerNormStdPlusEpsOfEqualValues(t *testing.T) {
	r := normed[float32](t, device.LayerNorm{Eps: 1e-6, StdPlusEps: true}, refTensor{[]int{1, 4}, constant(4, 5)},
		refTensor{[]int{4}, constant(4, 1)}, refTensor{[]int{4}, constant(4, 0.5)}, refTensor{[]int{1, 4}, []float64{1, 2, 3, 4}})
	wantWithin[float32](t, "y", 0, r.y, constant(4, 0.5)...)
	wantWithin[float32](t, "dx", 1, r.dx, -1.5e6, -0.5e6, 0.5e6, 1.5e6)
}

func constant(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}
