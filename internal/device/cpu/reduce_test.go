package cpu

import (
	"testing"

	"tinylm/internal/device"
)

func BenchmarkSumLeading(b *testing.B) {
	benchLaunch(b, 768*512, device.SumLeading{},
		[]device.Buffer{filled[float32](512)}, []device.Buffer{filled[float32](768, 512)})
}

func BenchmarkSumSquares(b *testing.B) {
	benchLaunch(b, 1<<20, device.SumSquares{},
		[]device.Buffer{device.Of(make([]float64, 1), []int{}...)}, []device.Buffer{filled[float32](1 << 20)})
}

func BenchmarkAdd(b *testing.B) {
	x, y := filled[float32](768, 128), filled[float32](768, 128)
	benchLaunch(b, 768*128, device.Add{}, []device.Buffer{y}, []device.Buffer{x, x})
}

func BenchmarkTranspose(b *testing.B) {
	benchLaunch(b, 768*128, device.Transpose{Perm: []int{1, 0}},
		[]device.Buffer{filled[float32](128, 768)}, []device.Buffer{filled[float32](768, 128)})
}
