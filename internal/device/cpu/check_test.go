package cpu

import (
	"testing"

	"tinylm/internal/device"
)

// TestUnwantedOutput launches kernels whose only output has no memory.
func TestUnwantedOutput(t *testing.T) {
	none := func(typ device.DType, shape ...int) []device.Buffer {
		return []device.Buffer{{Spec: device.Spec{DType: typ, Shape: shape}}}
	}
	a, b := filled[float32](3, 4), filled[float32](4, 5)
	for _, c := range []struct {
		kernel  device.Kernel
		out, in []device.Buffer
	}{
		{device.MatMul{}, none(device.Float32, 3, 5), []device.Buffer{a, b}},
		{device.Linear{}, none(device.Float32, 3, 5), []device.Buffer{a, b}},
		{device.LinearWeightGrad{}, none(device.Float32, 4, 4), []device.Buffer{a, a}},
		{device.SumLeading{}, none(device.Float32, 4), []device.Buffer{a}},
		{device.Activation{Kind: device.ReLU}, none(device.Float32, 3, 4), []device.Buffer{a}},
		{device.ActivationGrad{Kind: device.ReLU}, none(device.Float32, 3, 4), []device.Buffer{a, a}},
		{device.Add{}, none(device.Float32, 3, 4), []device.Buffer{a, a}},
		{device.Copy{}, none(device.Float32, 12), []device.Buffer{a}},
		{device.Transpose{Perm: []int{1, 0}}, none(device.Float32, 4, 3), []device.Buffer{a}},
		{device.SliceLast{From: 1, To: 2}, none(device.Float32, 3, 1), []device.Buffer{a}},
		{device.PadLast{From: 1, To: 5}, none(device.Float32, 3, 6), []device.Buffer{a}},
		{device.Reduce{}, none(device.Float32, 1, 4), []device.Buffer{a}},
		{device.Expand{}, none(device.Float32, 3, 4), []device.Buffer{a}},
		{device.RowMax{}, none(device.Float32, 3, 1), []device.Buffer{a}},
		{device.OneHot{}, none(device.Float32, 2, 3), []device.Buffer{device.Of([]int32{0, 1})}},
		{device.SumSquares{}, none(device.Float64), []device.Buffer{a}},
	} {
		launchOnce(t, c.kernel, c.out, c.in)
	}
}
