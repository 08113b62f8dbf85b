package cpu

import (
	"cmp"

	"tinylm/internal/device"
)

// attentionGrad is a bound AttentionGrad. A worker walks over the queries of one head, computes their
// weights again from stats (whole rows of them, so that y is not needed) and adds to the gradients of
// the head's keys and values, which are its own. Where there are few heads the queries are divided in
// parts, whose gradients are added up afterwards.
type attentionGrad[F float] struct {
	*attention[F]
	dy, dq   headed[F]
	dk, dvs  headed[F]   // gradients of keys and values
	dkParts  []headed[F] // of each part of the queries; dk itself when there is one part
	dvsParts []headed[F]
	size     int // queries of a part
}

// attentionTasks is the number of heads below which the queries are divided, in parts of at least
// partQueries.
const (
	attentionTasks = 8
	partQueries    = 64
)

func prepareAttentionGrad[F float](d *Device, k device.AttentionGrad, out, in []device.Buffer) (device.Launch, error) {
	a, rest, err := bindAttention[F](d, k, device.Attention(k), in)
	if err != nil {
		return nil, err
	}
	outputs := 3
	if k.Packed {
		outputs = 1
	}
	if err := checkCount(k, out, in, outputs, len(in)-len(rest)+3); err != nil {
		return nil, err
	}
	y, stats, dy := rest[0], rest[1], rest[2]
	if err := cmp.Or(
		a.bindResult(k, y, stats),
		checkFloat[F](k, dy),
		checkShape(k, "dy", dy, y.Shape...),
		checkFloat[F](k, out...),
	); err != nil {
		return nil, err
	}
	for i, o := range out {
		if err := checkShape(k, "gradient", o, in[i].Shape...); err != nil {
			return nil, err
		}
	}
	g := &attentionGrad[F]{attention: a, dy: a.result(dy)}
	if k.Packed {
		g.dq, g.dk, g.dvs = a.split(out[0])
	} else {
		g.dq, g.dk, g.dvs = headedOf[F](out[0]), headedOf[F](out[1]), headedOf[F](out[2])
	}
	if f := fusedOf(d, a); f != nil {
		g := any(g).(*attentionGrad[float32])
		return f.backward(g.dy, g.dq, g.dk, g.dvs), nil
	}
	d.reserve((2*queryTile + 1) * a.tk * dy.DType.Size())
	return g.launch(), nil
}

// launch divides the work, by shapes alone, and allocates the parts.
func (g *attentionGrad[F]) launch() device.Launch {
	heads := g.b * g.h
	parts := 1
	if heads > 0 {
		parts = max(1, min(chunksOf(attentionTasks, heads), g.tq/partQueries))
	}
	g.size = max(1, chunksOf(g.tq, parts))
	walk := g.dev.parallel(heads*parts, g.part)
	if parts == 1 {
		g.dkParts, g.dvsParts = []headed[F]{g.dk}, []headed[F]{g.dvs}
		return walk
	}
	g.dkParts, g.dvsParts = g.parts(g.dk, parts), g.parts(g.dvs, parts)
	return inTurn(walk, g.dev.parallel(heads, g.fold))
}

// parts allocates n tensors for the parts of sum; none when that is not wanted.
func (g *attentionGrad[F]) parts(sum headed[F], n int) []headed[F] {
	parts := make([]headed[F], n)
	if sum.data == nil {
		return parts
	}
	shape := []int{g.b, g.h, g.tk, sum.width}
	for i := range parts {
		parts[i] = headedOf[F](device.Of(make([]F, product(shape)), shape...))
	}
	return parts
}

// part computes the gradients that the queries of one part of one head cause.
func (g *attentionGrad[F]) part(chunk, worker int) {
	parts := len(g.dkParts)
	b, h, part := chunk/parts/g.h, chunk/parts%g.h, chunk%parts
	from, to := chunkRange(part, g.size, g.tq)
	dk, dvs := g.dkParts[part].at(b, h), g.dvsParts[part].at(b, h)
	for j := range g.tk {
		dk.clear(j)
		dvs.clear(j)
	}
	for i := from; i < to; i += queryTile {
		g.tile(b, h, i, min(queryTile, to-i), dk, dvs, scratchOf[F](g.dev, worker))
	}
}

// tile computes dq of the queries i, i+1, ... and adds what they cause to dk and dvs.
func (g *attentionGrad[F]) tile(b, h, i, rows int, dk, dvs matrix[F], scratch []F) {
	w, ds, f := scratch[:queryTile*g.tk], scratch[queryTile*g.tk:][:queryTile*g.tk], scratch[2*queryTile*g.tk:][:g.tk]
	q, k, v, dy, dq := g.q.at(b, h), g.k.at(b, h), g.v.at(b, h), g.dy.at(b, h), g.dq.at(b, h)
	g.scores(w, b, h, i, rows)
	g.products(ds, dy, v, i, rows) // gradients of the weights
	for r := range rows {
		n := g.visible(i + r)
		w, ds := w[r*g.tk:][:n], ds[r*g.tk:][:n]
		g.scoreGrad(w, ds, f, b, h, i+r)
		if dq.data != nil {
			dq.clear(i + r)
			accumulate(dq.at(i+r), ds, 1, k, n)
		}
	}
	for j := range g.visible(i + rows - 1) {
		r := 0 // the first row that sees key j
		if g.Causal {
			r = max(0, j-i)
		}
		if dk.data != nil {
			accumulate(dk.at(j), ds[r*g.tk+j:], g.tk, q.from(i+r), rows-r)
		}
		if dvs.data != nil {
			accumulate(dvs.at(j), w[r*g.tk+j:], g.tk, dy.from(i+r), rows-r)
		}
	}
}

// scoreGrad turns the scores w of query i into its weights after dropout, and the gradients ds of those
// into the gradients of q·k: of softmax w*(dw - sum(w*dw)). The sum equals dy·y, but taken over the
// weights it cancels exactly where a query sees one key.
func (g *attentionGrad[F]) scoreGrad(w, ds, f []F, b, h, i int) {
	at := ((b*g.h+h)*g.tq + i) * 2
	shift, inv := g.stats[at], g.stats[at+1]
	expRow(w, w, shift)
	if g.keep != nil {
		f = f[:len(w)]
		g.keep.factors(f, b, (h*g.tq+i)*g.tk)
		for j := range ds {
			ds[j] *= f[j]
		}
	}
	sum := 0.0
	for j := range w {
		w[j] *= inv
		sum += float64(w[j] * ds[j])
	}
	delta := F(sum)
	for j, w := range w {
		ds[j] = w * (ds[j] - delta) * g.scale
	}
	g.mask.stop(ds, b, h, i)
	if g.keep != nil {
		for j := range w {
			w[j] *= f[j]
		}
	}
}

// fold adds up the parts of dk and dvs of one head, in order.
func (g *attentionGrad[F]) fold(chunk, _ int) {
	b, h := chunk/g.h, chunk%g.h
	sumParts(g.dk.at(b, h), g.dkParts, b, h, g.tk)
	sumParts(g.dvs.at(b, h), g.dvsParts, b, h, g.tk)
}

func sumParts[F float](sum matrix[F], parts []headed[F], b, h, rows int) {
	if sum.data == nil {
		return
	}
	for j := range rows {
		sum.clear(j)
		for _, p := range parts {
			addVectors(sum.at(j), sum.at(j), p.at(b, h).at(j))
		}
	}
}
