package cpu

import (
	"math"
	"strings"
	"testing"

	"tinylm/internal/device"
)

func TestEmbeddingReference(t *testing.T) {
	inBoth(t, testEmbeddingReference[float32, int32], testEmbeddingReference[float64, int64])
}

func testEmbeddingReference[F float, I device.Element](t *testing.T) {
	c := reference(t, "embedding_repeated_ids")
	table, ids := c.Inputs["table"], buf[I](c.Fixed["ids"])
	y, dtable := nan[F](c.Output.Shape...), nan[F](table.Shape...)
	launch(t, device.Embedding{}, []device.Buffer{y}, []device.Buffer{buf[F](table), ids})
	wantClose[F](t, "y", y, c.Output.Data...)
	launch(t, device.EmbeddingGrad{}, []device.Buffer{dtable}, []device.Buffer{ids, buf[F](c.Upstream)})
	wantClose[F](t, "dtable", dtable, c.Grads["table"].Data...)
}

// Gradients of an id that repeats are added, not overwritten.
func TestEmbeddingGradAddsRepeatedIDs(t *testing.T) {
	dtable := nan[float64](3, 1)
	launch(t, device.EmbeddingGrad{}, []device.Buffer{dtable},
		[]device.Buffer{bufOf[int64]([]int{3}, 0, 0, 1), bufOf[float64]([]int{3, 1}, 0.2, 0.3, 0.7)})
	wantWithin[float64](t, "dtable", 0, dtable, 0.5, 0.7, 0)
}

func TestEmbeddingBadID(t *testing.T) {
	table, y := bufOf[float64]([]int{5, 2}, constant(10, 1)...), nan[float64](2, 2, 2)
	for _, c := range []struct {
		ids  []float64
		want string
	}{
		{[]float64{0, 1, 2, 5}, "id 5 at position [1 1] is outside 0..4"},
		{[]float64{0, -1, 2, 5}, "id -1 at position [0 1] is outside 0..4"},
	} {
		ids := bufOf[int32]([]int{2, 2}, c.ids...)
		err := tryLaunch(device.Embedding{}, []device.Buffer{y}, []device.Buffer{table, ids})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("embedding of %v: error is %v, want %q", c.ids, err, c.want)
		}
		err = tryLaunch(device.EmbeddingGrad{}, []device.Buffer{nan[float64](5, 2)}, []device.Buffer{ids, y})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("gradient for %v: error is %v, want %q", c.ids, err, c.want)
		}
	}
	for i, v := range device.Slice[float64](y) {
		if !math.IsNaN(v) {
			t.Errorf("the output was written at %d before the id was refused", i)
		}
	}
}
