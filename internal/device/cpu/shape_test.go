package cpu

import (
	"testing"

	"tinylm/internal/device"
)

func BenchmarkTranspose(b *testing.B) {
	benchLaunch(b, 768*128, device.Transpose{Perm: []int{1, 0}},
		[]device.Buffer{filled[float32](128, 768)}, []device.Buffer{filled[float32](768, 128)})
}
