package cpu

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"tinylm/internal/device"
)

// cachedAttention is a bound CachedAttention. The result of a query is summed up over the keys that it sees in the
// order of their positions, so that neither the split of a text into launches nor the other texts of a launch
// change a bit of it.
type cachedAttention[F float] struct {
	device.CachedAttention
	dev                   *Device
	b, t, h, d            int
	rows, most            int // texts and tokens of each that the cache has room for
	scale                 F
	keys, values          headed[F] // the cache
	q, newKeys, newValues headed[F]
	y                     headed[F]
	at                    indices
	tile                  int // queries of a head that are computed together
	kernels               cachedKernels[F]
}

// A worker takes cachedTile queries of a head at a time and goes through the cache in blocks of cachedBlock
// positions, which stay in the first cache while the queries meet them.
const (
	cachedTile  = 16
	cachedBlock = 64
)

func prepareCachedAttention[F float](d *Device, k device.CachedAttention, out, in []device.Buffer) (device.Launch, error) {
	a, err := bindCachedAttention[F](d, k, out, in)
	if err != nil {
		return nil, err
	}
	a.kernels = cachedKernelsOf[F](d)
	a.tile = min(cachedTile, max(1, a.t))
	d.reserve(a.tile * (a.d + a.most) * out[0].DType.Size())
	size := rowsPerChunk(a.t * a.d)
	return inTurn(a.check, d.parallel(chunksOf(a.b*a.h, size), func(chunk, _ int) {
		from, to := chunkRange(chunk, size, a.b*a.h)
		for i := from; i < to; i++ {
			a.store(i/a.h, i%a.h)
		}
	}), a.attention()), nil
}

func bindCachedAttention[F float](d *Device, k device.CachedAttention, out, in []device.Buffer) (*cachedAttention[F], error) {
	if err := checkCount(k, out, in, 1, 4); err != nil {
		return nil, err
	}
	keys, values, qkv, at, y := in[0], in[1], in[2], in[3], out[0]
	if err := cmp.Or(checkFloat[F](k, keys, values, qkv, y), checkInt(k, at)); err != nil {
		return nil, err
	}
	if len(keys.Shape) != 4 || slices.Min(keys.Shape) < 1 || !slices.Equal(keys.Shape, values.Shape) {
		return nil, errShapes(k, "want keys and values of one shape (R, H, M, D)", keys, values)
	}
	a := &cachedAttention[F]{dev: d, rows: keys.Shape[0], h: keys.Shape[1], most: keys.Shape[2], d: keys.Shape[3]}
	c := a.h * a.d
	if len(qkv.Shape) != 3 || qkv.Shape[2] != 3*c || qkv.Shape[1] > a.most {
		return nil, errShapes(k, fmt.Sprintf("want (B, T, %d) with T of %d at most after keys (R, H, M, D)", 3*c, a.most), keys, qkv)
	}
	a.b, a.t = qkv.Shape[0], qkv.Shape[1]
	if err := cmp.Or(checkShape(k, "at", at, a.b, 2), checkShape(k, "y", y, a.b, a.t, c)); err != nil {
		return nil, err
	}
	a.scale = F(1 / math.Sqrt(float64(a.d)))
	a.at = indicesOf(at)
	a.keys, a.values = headedOf[F](keys), headedOf[F](values)
	packed := headed[F]{batch: a.t * 3 * c, head: a.d, row: 3 * c, width: a.d}
	a.q, a.newKeys, a.newValues = packed, packed, packed
	if data := device.Slice[F](qkv); len(data) > 0 {
		a.q.data, a.newKeys.data, a.newValues.data = data, data[c:], data[2*c:]
	}
	a.y = headed[F]{data: device.Slice[F](y), batch: a.t * c, head: a.d, row: c, width: a.d}
	return a, nil
}

// check reports a text whose row or position the cache does not have.
func (a *cachedAttention[F]) check() error {
	for b := range a.b {
		row, position := a.at.at(2*b), a.at.at(2*b+1)
		if row == -1 {
			continue
		}
		if row < 0 || row >= a.rows {
			return fmt.Errorf("cpu: %s: text %d has row %d of the cache, which has rows 0..%d", a.Name(), b, row, a.rows-1)
		}
		if position < 0 || position > a.most-a.t {
			return fmt.Errorf("cpu: %s: text %d puts %d tokens at position %d on, the cache has positions 0..%d",
				a.Name(), b, a.t, position, a.most-1)
		}
		for other := range b {
			if a.at.at(2*other) == row {
				return fmt.Errorf("cpu: %s: texts %d and %d both have row %d of the cache", a.Name(), other, b, row)
			}
		}
	}
	return nil
}

// store puts the new keys and values of a head into the cache.
func (a *cachedAttention[F]) store(b, h int) {
	row, position := a.at.at(2*b), a.at.at(2*b+1)
	if row < 0 {
		return
	}
	keys, values := a.keys.at(row, h), a.values.at(row, h)
	newKeys, newValues := a.newKeys.at(b, h), a.newValues.at(b, h)
	for i := range a.t {
		copy(keys.at(position+i), newKeys.at(i))
		copy(values.at(position+i), newValues.at(i))
	}
}

// attention returns a Launch that computes y. A chunk is as many tiles as are worth a worker: at the beginning of
// a text all there are.
func (a *cachedAttention[F]) attention() device.Launch {
	tiles := chunksOf(a.t, a.tile)
	total, size := a.b*a.h*tiles, 0
	body := func(chunk, worker int) {
		from, to := chunkRange(chunk, size, total)
		for i := from; i < to; i++ {
			a.queries(i/tiles/a.h, i/tiles%a.h, i%tiles*a.tile, scratchOf[F](a.dev, worker))
		}
	}
	return func() error {
		longest := 0
		for b := range a.b {
			if a.at.at(2*b) >= 0 {
				longest = max(longest, a.at.at(2*b+1)+a.t)
			}
		}
		a.dev.mu.Lock()
		defer a.dev.mu.Unlock() // the body may panic
		const perNanosecond = 8 // elements of keys and values
		size = rowsPerChunk(2 * a.tile * longest * a.d / perNanosecond)
		a.dev.pool.run(chunksOf(total, size), body)
		return nil
	}
}

// queries computes the results of a tile of a head's queries, from new token i on.
func (a *cachedAttention[F]) queries(b, h, i int, scratch []F) {
	n := min(a.tile, a.t-i)
	row, position := a.at.at(2*b), a.at.at(2*b+1)+i
	y := a.y.at(b, h).from(i)
	for r := range n {
		clear(y.at(r))
	}
	if row < 0 {
		return
	}
	q := matrix[F]{data: scratch[:n*a.d], row: a.d, width: a.d}
	for r := range n {
		for j, x := range a.q.at(b, h).at(i + r) {
			q.at(r)[j] = x * a.scale
		}
	}
	w := position + n
	a.attend(y, q, matrix[F]{data: scratch[n*a.d:], row: w, width: w}, n, position, a.keys.at(row, h), a.values.at(row, h))
}

// attend adds to row r of y the values of the positions up to position+r, weighted by the softmax of row r of q
// times their keys. s is room for these weights (n, position+n).
func (a *cachedAttention[F]) attend(y, q, s matrix[F], n, position int, keys, values matrix[F]) {
	for from := 0; from < position+n; from += cachedBlock {
		block := keys.from(from)
		for r := max(0, from-position); r < n; r++ {
			to := min(from+cachedBlock, position+r+1)
			a.kernels.dot(s.at(r)[from:to], q.at(r), block)
		}
	}
	var inverse [cachedTile]F
	for r := range n {
		if sum := a.kernels.exp(s.at(r)[:position+r+1]); sum != 0 {
			inverse[r] = F(1 / sum)
		}
	}
	for from := 0; from < position+n; from += cachedBlock {
		block := values.from(from)
		for r := max(0, from-position); r < n; r++ {
			to := min(from+cachedBlock, position+r+1)
			a.kernels.add(y.at(r), s.at(r)[from:to], block)
		}
	}
	for r := range n {
		o := y.at(r)
		for j := range o {
			o[j] *= inverse[r]
		}
	}
}

// cachedKernels is what a query does with rows of the cache, from the first of some on.
type cachedKernels[F float] struct {
	dot func(s, q []F, keys matrix[F])   // s[j] = q·key j
	exp func(s []F) float64              // s = e^(s-max(s)); the sum of that
	add func(y, s []F, values matrix[F]) // y += s[0]*value 0, then s[1]*value 1, ...
}

func cachedKernelsOf[F float](d *Device) cachedKernels[F] {
	e := exponentialsOn[F](d)
	exp := func(s []F) float64 { return e.row(s, s, e.shift(s)) }
	set := vectors[F](d)
	if set == nil {
		return cachedKernels[F]{
			dot: func(s, q []F, keys matrix[F]) { dots(s, s, q, q, keys) },
			exp: exp,
			add: func(y, s []F, values matrix[F]) { accumulate(y, s, 1, values, len(s)) },
		}
	}
	bytes := func(m matrix[F]) int { return m.row * int(unsafe.Sizeof(m.data[0])) }
	return cachedKernels[F]{
		dot: func(s, q []F, keys matrix[F]) {
			set.DotRows(len(s), len(q), address(q), address(keys.data), bytes(keys), address(s))
		},
		exp: exp,
		add: func(y, s []F, values matrix[F]) {
			set.AddRows(len(s), len(y), address(s), address(values.data), bytes(values), address(y))
		},
	}
}
