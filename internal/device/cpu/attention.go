package cpu

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tinylm/internal/device"
)

// attention is a bound Attention, and the part that AttentionGrad shares with it.
//
// A worker takes a tile of queries at a time and keeps their scores with all the keys they see, so the
// memory grows with the length of the sequence only. Each row of scores is computed for itself, over
// the keys that its query sees and no others: nothing that comes later can change a bit of it.
type attention[F float] struct {
	device.Attention
	dev                 *Device
	b, h, tq, tk, d, dv int
	scale               F
	q, k, v, y          headed[F]
	stats               []F // (B, H, Tq, 2); nil when not wanted
	mask                scoreMask[F]
	keep                *keeper[F] // nil without dropout
}

// queryTile is the number of queries whose scores a worker keeps.
const queryTile = 8

func prepareAttention[F float](d *Device, k device.Attention, out, in []device.Buffer) (device.Launch, error) {
	a, rest, err := bindAttention[F](d, k, k, in)
	if err != nil {
		return nil, err
	}
	if err := checkCount(k, out, in, 2, len(in)-len(rest)); err != nil {
		return nil, err
	}
	if err := a.bindResult(k, out[0], out[1]); err != nil {
		return nil, err
	}
	if f := fusedOf(d, a); f != nil {
		return f.forward(), nil
	}
	d.reserve((queryTile + 1) * a.tk * out[0].DType.Size())
	return d.parallel(a.b*a.h*chunksOf(a.tq, queryTile), a.tile), nil
}

// bindAttention checks and binds the inputs that Attention and AttentionGrad have in common. It returns
// the inputs after them.
func bindAttention[F float](d *Device, kernel device.Kernel, k device.Attention, in []device.Buffer) (*attention[F], []device.Buffer, error) {
	if err := checkProbability(kernel, k.P); err != nil {
		return nil, nil, err
	}
	a := &attention[F]{Attention: k, dev: d}
	operands := 3
	if k.Packed {
		operands = 1
	}
	need := operands
	if k.Mask != device.NoMask {
		need++
	}
	if k.P > 0 {
		need++
	}
	if len(in) < need {
		return nil, nil, fmt.Errorf("cpu: %s takes at least %d inputs, got %d", kernel.Name(), need, len(in))
	}
	if err := checkFloat[F](kernel, in[:operands]...); err != nil {
		return nil, nil, err
	}
	bind := a.bindGeneral
	if k.Packed {
		bind = a.bindPacked
	}
	if err := bind(kernel, in); err != nil {
		return nil, nil, err
	}
	a.scale = F(1 / math.Sqrt(float64(a.d)))
	in = in[operands:]
	if k.Mask != device.NoMask {
		if err := a.bindMask(kernel, in[0]); err != nil {
			return nil, nil, err
		}
		in = in[1:]
	}
	if k.P > 0 {
		var err error
		if a.keep, err = newKeeper[F](kernel, k.P, k.Site, a.h*a.tq*a.tk, in[0]); err != nil {
			return nil, nil, err
		}
		a.keep.on(d)
		in = in[1:]
	}
	return a, in, nil
}

// bindPacked binds qkv (B, T, 3C).
func (a *attention[F]) bindPacked(k device.Kernel, in []device.Buffer) error {
	s := in[0].Shape
	if a.Heads < 1 || len(s) != 3 || s[2] == 0 || s[2]%(3*a.Heads) != 0 {
		return fmt.Errorf("cpu: %s: qkv has shape %v, want (B, T, 3 x %d heads x head width)", k.Name(), s, a.Heads)
	}
	a.b, a.h, a.tq, a.tk = s[0], a.Heads, s[1], s[1]
	a.d = s[2] / (3 * a.Heads)
	a.dv = a.d
	a.q, a.k, a.v = a.split(in[0])
	return nil
}

// split returns the queries, keys and values in a buffer of qkv's shape (B, T, 3C).
func (a *attention[F]) split(qkv device.Buffer) (q, k, v headed[F]) {
	c := a.h * a.d
	at := func(from int) headed[F] {
		x := headed[F]{batch: a.tq * 3 * c, head: a.d, row: 3 * c, width: a.d}
		if data := device.Slice[F](qkv); len(data) > 0 {
			x.data = data[from:]
		}
		return x
	}
	return at(0), at(c), at(2 * c)
}

// bindGeneral binds q (B, H, Tq, D), k (B, H, Tk, D) and v (B, H, Tk, Dv).
func (a *attention[F]) bindGeneral(kernel device.Kernel, in []device.Buffer) error {
	q, k, v := in[0].Shape, in[1].Shape, in[2].Shape
	if len(q) != 4 || len(k) != 4 || len(v) != 4 || q[3] == 0 || k[3] != q[3] ||
		!slices.Equal(q[:2], k[:2]) || !slices.Equal(k[:3], v[:3]) {
		return errShapes(kernel, "want q (B, H, Tq, D), k (B, H, Tk, D) and v (B, H, Tk, Dv)", in[:3]...)
	}
	a.b, a.h, a.tq, a.tk, a.d, a.dv = q[0], q[1], q[2], k[2], q[3], v[3]
	a.q, a.k, a.v = headedOf[F](in[0]), headedOf[F](in[1]), headedOf[F](in[2])
	return nil
}

// bindResult checks and binds y and stats.
func (a *attention[F]) bindResult(k device.Kernel, y, stats device.Buffer) error {
	if err := cmp.Or(
		checkFloat[F](k, y, stats),
		checkShape(k, "y", y, a.resultShape()...),
		checkShape(k, "stats", stats, a.b, a.h, a.tq, 2),
	); err != nil {
		return err
	}
	a.y, a.stats = a.result(y), device.Slice[F](stats)
	return nil
}

// resultShape is the shape of y: (B, T, C) when packed, else (B, H, Tq, Dv).
func (a *attention[F]) resultShape() []int {
	if a.Packed {
		return []int{a.b, a.tq, a.h * a.d}
	}
	return []int{a.b, a.h, a.tq, a.dv}
}

// result returns the heads in a buffer of y's shape.
func (a *attention[F]) result(y device.Buffer) headed[F] {
	if a.Packed {
		c := a.h * a.d
		return headed[F]{data: device.Slice[F](y), batch: a.tq * c, head: a.d, row: c, width: a.d}
	}
	return headedOf[F](y)
}

// tile computes y and stats of a tile of queries of one head.
func (a *attention[F]) tile(chunk, worker int) {
	tiles := chunksOf(a.tq, queryTile)
	b, h := chunk/tiles/a.h, chunk/tiles%a.h
	from, to := chunkRange(chunk%tiles, queryTile, a.tq)
	scratch := scratchOf[F](a.dev, worker)
	s, f := scratch[:queryTile*a.tk], scratch[queryTile*a.tk:][:a.tk]
	a.scores(s, b, h, from, to-from)
	v, y := a.v.at(b, h), a.y.at(b, h)
	for i := from; i < to; i++ {
		e := s[(i-from)*a.tk:][:a.visible(i)]
		shift := shiftOf(e)
		inv := F(0)
		if sum := expRow(e, e, shift); sum != 0 {
			inv = F(1 / sum)
		}
		if a.stats != nil {
			at := ((b*a.h+h)*a.tq + i) * 2
			a.stats[at], a.stats[at+1] = shift, inv
		}
		if y.data == nil {
			continue
		}
		a.drop(e, f, b, h, i)
		o := y.at(i)
		clear(o)
		accumulate(o, e, 1, v, len(e))
		for j := range o {
			o[j] *= inv
		}
	}
}

// visible returns the number of keys that query i sees: the first ones.
func (a *attention[F]) visible(i int) int {
	if a.Causal {
		return min(i+1, a.tk)
	}
	return a.tk
}

// scores sets s (rows, Tk) to the scores of the queries i, i+1, ... and the keys each sees.
func (a *attention[F]) scores(s []F, b, h, i, rows int) {
	a.products(s, a.q.at(b, h), a.k.at(b, h), i, rows)
	for r := range rows {
		row := s[r*a.tk:][:a.visible(i+r)]
		for j := range row {
			row[j] *= a.scale
		}
		a.mask.apply(row, b, h, i+r)
	}
}

// products sets s (rows, Tk) to the rows i, i+1, ... of x times those rows of y that are visible.
func (a *attention[F]) products(s []F, x, y matrix[F], i, rows int) {
	for r := 0; r < rows; r += 2 {
		n := a.visible(i + r)
		s0, x0 := s[r*a.tk:][:n], x.at(i+r)
		if r+1 == rows {
			dots(s0, s0, x0, x0, y)
			break
		}
		s1, x1 := s[(r+1)*a.tk:][:a.visible(i+r+1)], x.at(i+r+1)
		dots(s0, s1[:n], x0, x1, y)
		dots(s1[n:], s1[n:], x1, x1, y.from(n))
	}
}

// drop multiplies a row of weights by its factors of dropout, which it leaves in f.
func (a *attention[F]) drop(w, f []F, b, h, i int) {
	if a.keep == nil {
		return
	}
	f = f[:len(w)]
	a.keep.factors(f, b, (h*a.tq+i)*a.tk)
	for j := range w {
		w[j] *= f[j]
	}
}
