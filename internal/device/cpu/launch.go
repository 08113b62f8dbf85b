package cpu

import (
	"fmt"

	"tinylm/internal/device"
)

// inTurn returns a Launch that runs steps one after the other, up to the first that fails.
func inTurn(steps ...device.Launch) device.Launch {
	return func() error {
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

// indices are the elements of an integer buffer, of either type.
type indices struct {
	shape  []int
	narrow []int32
	wide   []int64
}

func indicesOf(b device.Buffer) indices {
	if b.DType == device.Int32 {
		return indices{shape: b.Shape, narrow: device.Slice[int32](b)}
	}
	return indices{shape: b.Shape, wide: device.Slice[int64](b)}
}

func (x indices) len() int { return max(len(x.narrow), len(x.wide)) }

func (x indices) at(i int) int {
	if x.narrow != nil {
		return int(x.narrow[i])
	}
	return int(x.wide[i])
}

// errOutside is the error for element i, called what, which is not in [0, limit).
func (x indices) errOutside(k device.Kernel, what string, i, limit int) error {
	at := make([]int, len(x.shape))
	for axis, rest := len(at)-1, i; axis >= 0; axis-- {
		at[axis], rest = rest%x.shape[axis], rest/x.shape[axis]
	}
	return fmt.Errorf("cpu: %s: %s %d at position %d is outside 0..%d", k.Name(), what, x.at(i), at, limit-1)
}
