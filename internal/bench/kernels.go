package bench

import (
	"time"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu"
)

// kernels are some kernels bound to buffers, to be timed together.
type kernels struct {
	dev      *cpu.Device
	launches []device.Launch
	err      error
}

// add prepares one more kernel; the first error stays.
func (k *kernels) add(what device.Kernel, out device.Buffer, in ...device.Buffer) {
	if k.err != nil {
		return
	}
	var l device.Launch
	if l, k.err = k.dev.Prepare(what, []device.Buffer{out}, in); k.err == nil {
		k.launches = append(k.launches, l)
	}
}

// run launches the kernels one after the other.
func (k *kernels) run() error {
	for _, l := range k.launches {
		if err := l(); err != nil {
			return err
		}
	}
	return nil
}

// fastest returns the shortest time of a run.
func (k *kernels) fastest(spend time.Duration) (time.Duration, error) {
	if k.err != nil {
		return 0, k.err
	}
	return fastest(k.run, spend, leastRuns)
}

// floats is a buffer of random numbers, in memory such as machines have.
func (k *kernels) floats(shape ...int) device.Buffer {
	b := device.Buffer{Spec: device.Spec{DType: device.Float32, Shape: shape}}
	if k.err != nil {
		return b
	}
	if b.Ptr, k.err = k.dev.Alloc(b.Bytes()); k.err == nil {
		fillRandom(device.Slice[float32](b))
	}
	return b
}
