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
	if err := checkCount(k, out, in, 1, 2); err != nil {
		return nil, err
	}
	ids, dy, dtable := in[0], in[1], out[0] // (S...), (S..., C), (V, C)
	if err := checkTable[F](k, "dy", dtable, ids, dy); err != nil {
		return nil, err
	}
	v, c := dtable.Shape[0], dtable.Shape[1]
	at, dys, dts := indicesOf(ids), device.Slice[F](dy), device.Slice[F](dtable)
	// A chunk owns a range of the vocabulary and looks through all ids, so each row is summed in the
	// order of the ids whatever the ranges are.
	size := chunksOf(v, embeddingRanges)
	return inTurn(checkIDs(k, at, v), d.parallel(chunksOf(len(dts), size*c), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, v)
		clear(dts[from*c : to*c])
		for i := range at.len() {
			if id := at.at(i); id >= from && id < to {
				g := dts[id*c : (id+1)*c]
				addVectors(g, g, dys[i*c:(i+1)*c])
			}
		}
	})), nil
}

// embeddingRanges is the number of parts of the vocabulary whose gradients are summed in parallel.
const embeddingRanges = 16

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
