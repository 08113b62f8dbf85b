//go:build unix

package cpu

import (
	"fmt"
	"runtime"
	"testing"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
	"tinylm/internal/guard"
)

// TestAttentionInGuardedMemory puts all buffers beside memory that must not be touched.
func TestAttentionInGuardedMemory(t *testing.T) {
	everySet(t, func(t *testing.T, set *simd.Set) {
		d := NewWith(1, set)
		for _, s := range []struct{ tq, tk, d, dv int }{{1, 1, 1, 1}, {15, 17, 7, 33}, {33, 30, 48, 80}, {65, 300, 31, 16}, {20, 70, 200, 130}} {
			for name, place := range map[string]func(testing.TB, int) []float32{"before": guard.Before, "after": guard.After} {
				t.Run(fmt.Sprintf("%+v/%s", s, name), func(t *testing.T) {
					of := func(shape ...int) device.Buffer {
						data := place(t, product(shape))
						for i := range data {
							data[i] = float32(i%7)/8 - 0.4
						}
						return device.Of(data, shape...)
					}
					q, k, v, mask := of(1, 2, s.tq, s.d), of(1, 2, s.tk, s.d), of(1, 2, s.tk, s.dv), of(s.tq, s.tk)
					y, stats, dy := of(1, 2, s.tq, s.dv), of(1, 2, s.tq, 2), of(1, 2, s.tq, s.dv)
					for _, kind := range []device.Attention{{Causal: true}, {Mask: device.AdditiveMask}} {
						in := []device.Buffer{q, k, v}
						if kind.Mask != device.NoMask {
							in = append(in, mask)
						}
						run := func(k device.Kernel, out, in []device.Buffer) {
							t.Helper()
							launch, err := d.Prepare(k, out, in)
							if err == nil {
								err = launch()
							}
							if err != nil {
								t.Fatal(err)
							}
						}
						run(kind, []device.Buffer{y, stats}, in)
						grads := []device.Buffer{of(q.Shape...), of(k.Shape...), of(v.Shape...)}
						run(device.AttentionGrad(kind), grads, append(in, y, stats, dy))
					}
				})
			}
		}
	})
}

// TestAttentionMemory fails when attention takes memory like that of the scores, (T, T), or more than a part of it.
func TestAttentionMemory(t *testing.T) {
	const n, c = 8192, 4
	qkv, y, stats := filled[float32](1, n, 3*c), filled[float32](1, n, c), filled[float32](1, 1, n, 2)
	dqkv, dy := filled[float32](1, n, 3*c), filled[float32](1, n, c)
	everySet(t, func(t *testing.T, set *simd.Set) {
		d := NewWith(2, set)
		k := device.Attention{Packed: true, Heads: 1, Causal: true}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := d.Prepare(k, []device.Buffer{y, stats}, []device.Buffer{qkv})
		if err == nil {
			_, err = d.Prepare(device.AttentionGrad(k), []device.Buffer{dqkv}, []device.Buffer{qkv, y, stats, dy})
		}
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 4*n*n/32 {
			t.Errorf("%d bytes allocated for a length of %d", bytes, n)
		}
	})
}
