package cpu

import (
	"cmp"

	"tinylm/internal/device"
)

// takeBase splits the inputs of a kernel whose output 0 is added to input 0 when add is set: base, which is
// like output 0 (a buffer that is not there otherwise), and the other inputs. It checks the counts of buffers
// given without base.
func takeBase[F float](k device.Kernel, add bool, out, in []device.Buffer, outputs, inputs int) (
	base device.Buffer, rest []device.Buffer, err error) {
	if !add {
		return base, in, checkCount(k, out, in, outputs, inputs)
	}
	if err := checkCount(k, out, in, outputs, inputs+1); err != nil {
		return base, in, err
	}
	base = in[0]
	return base, in[1:], cmp.Or(checkFloat[F](k, base), checkShape(k, "base", base, out[0].Shape...))
}
