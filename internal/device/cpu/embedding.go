package cpu

import (
	"cmp"

	"tinylm/internal/device"
)

func prepareEmbedding[F float](d *Device, k device.Embedding, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	table, ids, y := in[0], in[1], out[0] // (V, C), (S...), (S..., C)
	if err := checkTable[F](k, "y", table, ids, y); err != nil {
		return nil, err
	}
	c := table.Shape[1]
	rows, at, ys := device.Slice[F](table), indicesOf(ids), device.Slice[F](y)
	size := rowsPerChunk(c)
	return inTurn(checkIDs(k, at, table.Shape[0]), d.parallel(chunksOf(len(ys), size*c), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, at.len())
		for i := from; i < to; i++ {
			id := at.at(i)
			copy(ys[i*c:(i+1)*c], rows[id*c:(id+1)*c])
		}
	})), nil
}

func prepareEmbeddingGrad[F float](d *Device, k device.EmbeddingGrad, out, in []device.Buffer) (device.Launch, error) {
	base, in, err := takeBase[F](k, k.Add, out, in, 1, 2)
	if err != nil {
		return nil, err
	}
	ids, dy, dtable := in[0], in[1], out[0] // (S...), (S..., C), (V, C)
	if err := checkTable[F](k, "dy", dtable, ids, dy); err != nil {
		return nil, err
	}
	g := &embeddingGrad[F]{
		ids: indicesOf(ids), c: dtable.Shape[1], add: adding[F](d),
		dy: device.Slice[F](dy), dtable: device.Slice[F](dtable), base: device.Slice[F](base),
	}
	steps := []device.Launch{checkIDs(k, g.ids, dtable.Shape[0])}
	if base.Ptr == nil || base.Ptr != dtable.Ptr {
		steps = append(steps, d.parallel(chunksOf(len(g.dtable), tableChunk), g.begin))
	}
	return inTurn(append(steps, d.parallel(chunksOf(g.c, embeddingColumns), g.part))...), nil
}

const (
	tableChunk       = 1 << 20 // elements of the table that are set at a time
	embeddingColumns = 64      // columns that are summed at a time
)

// embeddingGrad is a bound EmbeddingGrad.
type embeddingGrad[F float] struct {
	ids indices
	c   int // columns
	add func(y, a, b []F)

	dy, dtable []F
	base       []F // nil: zeros
}

// begin sets a chunk of the table to the base.
func (g *embeddingGrad[F]) begin(chunk, _ int) {
	from, to := chunkRange(chunk, tableChunk, len(g.dtable))
	if g.base == nil {
		clear(g.dtable[from:to])
	} else {
		copy(g.dtable[from:to], g.base[from:to])
	}
}

// part adds some columns of all rows, in the order of the ids.
func (g *embeddingGrad[F]) part(part, _ int) {
	from, to := chunkRange(part, embeddingColumns, g.c)
	for i := range g.ids.len() {
		row := g.dtable[g.ids.at(i)*g.c:][from:to]
		g.add(row, row, g.dy[i*g.c:][from:to])
	}
}

// checkTable checks a table, the ids of its rows, and the rows, called what.
func checkTable[F float](k device.Kernel, what string, table, ids, rows device.Buffer) error {
	if err := cmp.Or(checkFloat[F](k, table, rows), checkInt(k, ids)); err != nil {
		return err
	}
	if len(table.Shape) != 2 {
		return errShapes(k, "the table must be (V, C)", table, ids)
	}
	return checkShape(k, what, rows, append(ids.Shape[:len(ids.Shape):len(ids.Shape)], table.Shape[1])...)
}

// checkIDs returns a Launch that reports the first id outside 0..limit-1.
func checkIDs(k device.Kernel, ids indices, limit int) device.Launch {
	return func() error {
		for i := range ids.len() {
			if id := ids.at(i); id < 0 || id >= limit {
				return ids.errOutside(k, "id", i, limit)
			}
		}
		return nil
	}
}
