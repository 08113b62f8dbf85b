package cpu

import (
	"cmp"
	"math"

	"tinylm/internal/device"
)

func prepareLayerNorm[F float](d *Device, k device.LayerNorm, out, in []device.Buffer) (device.Launch, error) {
	if err := checkCount(k, out, in, 3, 3); err != nil {
		return nil, err
	}
	x, weight, bias := in[0], in[1], in[2] // (N..., C), (C), (C)
	y, mean, rstd := out[0], out[1], out[2]
	n, c := splitLast(x.Shape)
	if err := cmp.Or(
		checkFloat[F](k, x, weight, bias, y, mean, rstd),
		checkShape(k, "weight", weight, c),
		checkShape(k, "bias", bias, c),
		checkShape(k, "y", y, x.Shape...),
		checkShape(k, "mean", mean, n),
		checkShape(k, "rstd", rstd, n),
	); err != nil {
		return nil, err
	}
	l := &layerNorm[F]{
		norm: k, n: n, c: c, x: device.Slice[F](x), weight: device.Slice[F](weight), bias: device.Slice[F](bias),
		y: device.Slice[F](y), mean: device.Slice[F](mean), rstd: device.Slice[F](rstd),
	}
	if set := vectors[F](d); set != nil && !k.StdPlusEps {
		return l.onVectors(d, set), nil
	}
	l.size = rowsPerChunk(4 * c)
	return d.parallel(chunksOf(n, l.size), l.rows), nil
}

// layerNorm is a bound LayerNorm.
type layerNorm[F float] struct {
	norm device.LayerNorm
	n, c int
	size int // rows of a chunk

	x, weight, bias []F
	y, mean, rstd   []F // nil when not wanted
}

func (l *layerNorm[F]) rows(chunk, _ int) {
	from, to := chunkRange(chunk, l.size, l.n)
	for r := from; r < to; r++ {
		x := l.x[r*l.c : (r+1)*l.c]
		mean := meanOf(x)
		rstd := F(rstdOf(l.norm, variance(x, mean)))
		if l.mean != nil {
			l.mean[r] = mean
		}
		if l.rstd != nil {
			l.rstd[r] = rstd
		}
		if l.y != nil {
			normalizeRow(l.y[r*l.c:(r+1)*l.c], x, l.weight, l.bias, mean, rstd)
		}
	}
}

// meanOf returns the mean of x, summed in float64 so that a row of equal values has exactly that mean.
func meanOf[F float](x []F) F {
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s0 += float64(x[i])
		s1 += float64(x[i+1])
		s2 += float64(x[i+2])
		s3 += float64(x[i+3])
	}
	for ; i < len(x); i++ {
		s0 += float64(x[i])
	}
	return F(((s0 + s1) + (s2 + s3)) / float64(len(x)))
}

// variance returns the biased variance of x about its mean.
func variance[F float](x []F, mean F) float64 {
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		d0, d1, d2, d3 := float64(x[i]-mean), float64(x[i+1]-mean), float64(x[i+2]-mean), float64(x[i+3]-mean)
		s0 += float64(d0 * d0)
		s1 += float64(d1 * d1)
		s2 += float64(d2 * d2)
		s3 += float64(d3 * d3)
	}
	for ; i < len(x); i++ {
		d := float64(x[i] - mean)
		s0 += float64(d * d)
	}
	return ((s0 + s1) + (s2 + s3)) / float64(len(x))
}

func rstdOf(k device.LayerNorm, variance float64) float64 {
	if k.StdPlusEps {
		return 1 / (math.Sqrt(variance) + k.Eps)
	}
	return 1 / math.Sqrt(variance+k.Eps)
}

func normalizeRow[F float](y, x, weight, bias []F, mean, rstd F) {
	y, weight, bias = y[:len(x)], weight[:len(x)], bias[:len(x)]
	for i, x := range x {
		y[i] = F((x-mean)*rstd*weight[i]) + bias[i]
	}
}

// normChunks bounds the partial sums that LayerNormGrad keeps of dweight and dbias.
const normChunks = 32

func prepareLayerNormGrad[F float](d *Device, k device.LayerNormGrad, out, in []device.Buffer) (device.Launch, error) {
	base, in, err := takeBase[F](k, k.Add, out, in, 3, 5)
	if err != nil {
		return nil, err
	}
	x, weight, mean, rstd, dy := in[0], in[1], in[2], in[3], in[4] // (N..., C), (C), (N), (N), (N..., C)
	dx, dweight, dbias := out[0], out[1], out[2]                   // (N..., C), (C), (C)
	n, c := splitLast(x.Shape)
	if err := cmp.Or(
		checkFloat[F](k, x, weight, mean, rstd, dy, dx, dweight, dbias),
		checkShape(k, "weight", weight, c),
		checkShape(k, "mean", mean, n),
		checkShape(k, "rstd", rstd, n),
		checkShape(k, "dy", dy, x.Shape...),
		checkShape(k, "dx", dx, x.Shape...),
		checkShape(k, "dweight", dweight, c),
		checkShape(k, "dbias", dbias, c),
	); err != nil {
		return nil, err
	}
	g := &layerNormGrad[F]{
		norm: device.LayerNorm{Eps: k.Eps, StdPlusEps: k.StdPlusEps}, n: n, c: c,
		x: device.Slice[F](x), weight: device.Slice[F](weight), mean: device.Slice[F](mean),
		rstd: device.Slice[F](rstd), dy: device.Slice[F](dy), base: device.Slice[F](base),
		dx: device.Slice[F](dx), dweight: device.Slice[F](dweight), dbias: device.Slice[F](dbias),
	}
	if set := vectors[F](d); set != nil && !k.StdPlusEps {
		return g.onVectors(d, set), nil
	}
	g.size = max(rowsPerChunk(8*c), chunksOf(n, normChunks))
	chunks := chunksOf(n, g.size)
	if g.dweight == nil && g.dbias == nil {
		return d.parallel(chunks, g.rows), nil
	}
	g.partial = make([]F, chunks*2*c)
	return inTurn(d.parallel(chunks, g.rows), d.parallel(chunksOf(c, foldColumns), g.fold)), nil
}

// layerNormGrad is a bound LayerNormGrad.
type layerNormGrad[F float] struct {
	norm device.LayerNorm
	n, c int
	size int // rows of a chunk

	x, weight, mean, rstd, dy []F
	base                      []F // nil when dx is not added to it
	dx, dweight, dbias        []F // nil when not wanted

	partial []F // (chunks, 2, C): dweight and dbias of each chunk; nil when neither is wanted
}

// rows computes dx of a chunk of rows, and the chunk's part of dweight and dbias.
func (g *layerNormGrad[F]) rows(chunk, _ int) {
	from, to := chunkRange(chunk, g.size, g.n)
	var dw, db []F
	if g.partial != nil {
		p := g.partial[chunk*2*g.c : (chunk+1)*2*g.c]
		clear(p)
		dw, db = p[:g.c], p[g.c:]
	}
	for r := from; r < to; r++ {
		x, dy := g.x[r*g.c:(r+1)*g.c], g.dy[r*g.c:(r+1)*g.c]
		if dw != nil {
			addNormed(dw, db, x, dy, g.mean[r], g.rstd[r])
		}
		if g.dx != nil {
			var base []F
			if g.base != nil {
				base = g.base[r*g.c : (r+1)*g.c]
			}
			g.row(g.dx[r*g.c:(r+1)*g.c], base, x, dy, g.mean[r], g.rstd[r])
		}
	}
}

// addNormed adds dy times the normalised x to dw, and dy to db.
func addNormed[F float](dw, db, x, dy []F, mean, rstd F) {
	dw, db, dy = dw[:len(x)], db[:len(x)], dy[:len(x)]
	for i, x := range x {
		dw[i] += F(dy[i] * ((x - mean) * rstd))
		db[i] += dy[i]
	}
}

// row sets dx = rstd*(g - mean(g) - h*slope*mean(g*h)) where g = dy*weight and h is x normalised, plus base
// unless that is nil.
// slope is 1, or with StdPlusEps 1/(std*rstd): there rstd changes otherwise with the deviation. Where
// the deviation is 0, h is 0 and there is no such term.
func (g *layerNormGrad[F]) row(dx, base, x, dy []F, mean, rstd F) {
	w := g.weight[:len(x)]
	dx, dy = dx[:len(x)], dy[:len(x)]
	var sum, dot float64
	for i, x := range x {
		gw := float64(dy[i] * w[i])
		sum += gw
		dot += float64(gw * float64((x-mean)*rstd))
	}
	if g.norm.StdPlusEps {
		if std := math.Sqrt(variance(x, mean)); std > 0 {
			dot /= std * float64(rstd)
		}
	}
	c := float64(len(x))
	sub, slope := F(sum/c), F(dot/c)
	for i, x := range x {
		h := (x - mean) * rstd
		v := F(rstd * (F(dy[i]*w[i]) - sub - F(h*slope)))
		if base != nil {
			v += base[i]
		}
		dx[i] = v
	}
}

// fold adds up the parts of dweight and dbias of some columns, in the order of the chunks.
func (g *layerNormGrad[F]) fold(chunk, _ int) {
	from, to := chunkRange(chunk, foldColumns, g.c)
	for half, sum := range [][]F{g.dweight, g.dbias} {
		if sum == nil {
			continue
		}
		sum = sum[from:to]
		clear(sum)
		for p := half * g.c; p < len(g.partial); p += 2 * g.c {
			addVectors(sum, sum, g.partial[p+from:p+to])
		}
	}
}
