package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// TestCachedAttentionSplit gives the same tokens at once, one by one, and beside another text: the results and
// the cache must have equal bits.
func TestCachedAttentionSplit(t *testing.T) {
	everySet(t, func(t *testing.T, set *simd.Set) {
		for _, workers := range []int{1, 3} {
			const heads, width, length = 3, 33, 70
			r := rand.New(rand.NewPCG(1, 2))
			qkv := make([]float32, 2*length*3*heads*width) // of two texts
			for i := range qkv {
				qkv[i] = float32(r.NormFloat64())
			}
			c := cacheTest{t: t, d: NewWith(workers, set), heads: heads, width: width}
			c.keys, c.values = make([]float32, 2*heads*length*width), make([]float32, 2*heads*length*width)
			want := c.launch(length, qkv, 1, 0, 0, 0)
			keys, values := slices.Clone(c.keys), slices.Clone(c.values)
			clear(c.keys)
			clear(c.values)
			for i := range length {
				const row = 3 * heads * width
				y := c.launch(1, qkv[i*row:][:row], 1, int32(i))
				if !slices.Equal(y, want[i*heads*width:][:heads*width]) {
					t.Fatalf("%d workers: token %d alone has another result than among %d of two texts", workers, i, length)
				}
			}
			half := len(keys) / 2 // row 0 of the cache is the other text's
			if !slices.Equal(c.keys[half:], keys[half:]) || !slices.Equal(c.values[half:], values[half:]) {
				t.Errorf("%d workers: token by token the cache becomes another", workers)
			}
		}
	})
}

// cacheTest is a cache of two texts.
type cacheTest struct {
	t            *testing.T
	d            *Device
	heads, width int
	keys, values []float32
}

// launch runs the kernel on tokens of each text; at holds its row and position.
func (c *cacheTest) launch(tokens int, qkv []float32, at ...int32) []float32 {
	c.t.Helper()
	texts, room := len(at)/2, len(c.keys)/(2*c.heads*c.width)
	y := make([]float32, len(qkv)/3)
	run, err := c.d.Prepare(device.CachedAttention{}, []device.Buffer{device.Of(y, texts, tokens, c.heads*c.width)}, []device.Buffer{
		device.Of(c.keys, 2, c.heads, room, c.width), device.Of(c.values, 2, c.heads, room, c.width),
		device.Of(qkv, texts, tokens, 3*c.heads*c.width), device.Of(at, texts, 2),
	})
	if err == nil {
		err = run()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return y
}
