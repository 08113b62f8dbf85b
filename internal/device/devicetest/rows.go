package devicetest

import (
	"fmt"
	"math"
	"slices"

	"tinylm/internal/device"
)

// rowCases are the kernels that work on rows: of a table, of the last axis, of attention's scores.
func rowCases() []Case {
	return slices.Concat(embeddingCases(), layerNormCases(), softmaxCases(), crossEntropyCases(),
		dropoutCases(), attentionCases(), cachedCases(), rowErrors())
}

// whole returns integers from 0 to limit-1, of type typ.
func whole(seed uint64, typ device.DType, limit int, shape ...int) Tensor {
	x := random(seed, shape...)
	for i, v := range x.Data {
		x.Data[i] = math.Floor(math.Abs(v)*1e6) - float64(limit)*math.Floor(math.Floor(math.Abs(v)*1e6)/float64(limit))
	}
	x.DType = typ
	return x
}

func embeddingCases() []Case {
	var cases []Case
	for i, s := range []struct {
		v, c int
		ids  []int
	}{
		{1, 1, []int{1}}, {5, 3, []int{7}}, {7, 16, []int{2, 9}}, {100, 65, []int{3, 5, 2}}, {3, 130, []int{200}}, {4, 2, []int{}},
	} {
		typ := []device.DType{device.Int32, device.Int64}[i%2]
		ids := whole(uint64(i), typ, s.v, s.ids...)
		rows := append(slices.Clone(s.ids), s.c)
		cases = append(cases, Case{
			Name:   fmt.Sprintf("%dx%d%v", s.v, s.c, s.ids),
			Kernel: device.Embedding{},
			In:     []Tensor{random(1, s.v, s.c), ids},
			Out:    []Tensor{empty(rows...)},
			Exact:  true,
			Ref: func(in [][]float64) [][]float64 {
				var y []float64
				for _, id := range in[1] {
					y = append(y, in[0][int(id)*s.c:(int(id)+1)*s.c]...)
				}
				return [][]float64{y}
			},
		}, Case{
			Name:   fmt.Sprintf("%dx%d%v", s.v, s.c, s.ids),
			Kernel: device.EmbeddingGrad{},
			In:     []Tensor{ids, random(2, rows...)},
			Out:    []Tensor{empty(s.v, s.c)},
			Ref: func(in [][]float64) [][]float64 {
				return [][]float64{embeddingGradRef(make([]float64, s.v*s.c), s.c, in[0], in[1])}
			},
		}, Case{
			Name:   fmt.Sprintf("%dx%d%v added", s.v, s.c, s.ids),
			Kernel: device.EmbeddingGrad{Add: true},
			In:     []Tensor{random(3, s.v, s.c), ids, random(2, rows...)},
			Out:    []Tensor{empty(s.v, s.c)},
			Ref: func(in [][]float64) [][]float64 {
				return [][]float64{embeddingGradRef(slices.Clone(in[0]), s.c, in[1], in[2])}
			},
		})
	}
	return cases
}

// embeddingGradRef adds the rows of dy to those of dtable that the ids name.
func embeddingGradRef(dtable []float64, c int, ids, dy []float64) []float64 {
	for i, v := range dy {
		dtable[int(ids[i/c])*c+i%c] += v
	}
	return dtable
}

// rowShapes are shapes (N..., last) of single elements, odd lengths, lengths around those of vectors, and many rows.
var rowShapes = [][]int{
	{1}, {7}, {1, 1}, {3, 2}, {2, 3, 5}, {9, 64}, {2, 2, 65}, {150, 130}, {4, 1003},
	{3, 8}, {2, 15}, {2, 16}, {3, 17}, {2, 31}, {2, 33}, {2, 63},
}

func split(shape []int) (rows, last int) {
	last = shape[len(shape)-1]
	return device.Spec{Shape: shape}.Len() / last, last
}

func layerNormCases() []Case {
	var cases []Case
	odd := [][]int{{5, 15}, {5, 16}, {6, 17}, {3, 31}, {3, 33}, {2, 63}, {700, 24}, {0, 20}}
	for _, k := range []device.LayerNorm{{Eps: 1e-5}, {Eps: 1e-6, StdPlusEps: true}} {
		for _, shape := range slices.Concat(rowShapes, odd) {
			n, c := split(shape)
			x, w, b, dy := random(1, shape...), random(2, c), random(3, c), random(4, shape...)
			for i := range x.Data {
				x.Data[i] = 3*x.Data[i] + 1
			}
			ref := func(in [][]float64) [][]float64 { return layerNormRef(k, c, in[0], in[1], in[2]) }
			stats := ref([][]float64{x.Data, w.Data, b.Data})
			name := fmt.Sprintf("%v,%v", shape, k.StdPlusEps)
			cases = append(cases, Case{
				Name:   name,
				Kernel: k,
				In:     []Tensor{x, w, b},
				Out:    []Tensor{empty(shape...), empty(n), empty(n)},
				Ref:    ref,
			})
			if c <= 2 {
				continue // rows of one or two values are normalised to 0 or -1 and 1: no gradient but rounding
			}
			cases = append(cases, Case{
				Name:   name,
				Kernel: device.LayerNormGrad{Eps: k.Eps, StdPlusEps: k.StdPlusEps},
				In:     []Tensor{x, w, of(0, []int{n}, stats[1]...), of(0, []int{n}, stats[2]...), dy},
				Out:    []Tensor{empty(shape...), empty(c), empty(c)},
				Ref:    func(in [][]float64) [][]float64 { return layerNormGradRef(k, c, in[0], in[1], in[4]) },
			}, Case{
				Name:   name + " added",
				Kernel: device.LayerNormGrad{Eps: k.Eps, StdPlusEps: k.StdPlusEps, Add: true},
				In:     []Tensor{random(5, shape...), x, w, of(0, []int{n}, stats[1]...), of(0, []int{n}, stats[2]...), dy},
				Out:    []Tensor{empty(shape...), empty(c), empty(c)},
				Ref: func(in [][]float64) [][]float64 {
					ref := layerNormGradRef(k, c, in[1], in[2], in[5])
					for i, v := range in[0] {
						ref[0][i] += v
					}
					return ref
				},
			})
		}
	}
	return cases
}

// layerNormRef returns y, mean and rstd.
func layerNormRef(k device.LayerNorm, c int, x, w, b []float64) [][]float64 {
	var y, means, rstds []float64
	for row := range slices.Chunk(x, c) {
		mean, std := meanAndStd(row)
		rstd := 1 / math.Sqrt(std*std+k.Eps)
		if k.StdPlusEps {
			rstd = 1 / (std + k.Eps)
		}
		for i, v := range row {
			y = append(y, w[i]*(v-mean)*rstd+b[i])
		}
		means, rstds = append(means, mean), append(rstds, rstd)
	}
	return [][]float64{y, means, rstds}
}

func meanAndStd(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		std += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(std)
}

// layerNormGradRef multiplies dy by the whole Jacobian of each row: the normalised value h[j] is
// (x[j]-mean)*r(std), whose derivative by x[i] is (1(i=j) - 1/C)*r + (x[j]-mean)*r'(std)*(x[i]-mean)/(C*std).
func layerNormGradRef(k device.LayerNorm, c int, x, w, dy []float64) [][]float64 {
	var dx []float64
	dw, db := make([]float64, c), make([]float64, c)
	for at := 0; at < len(x); at += c {
		row, up := x[at:at+c], dy[at:at+c]
		mean, std := meanAndStd(row)
		r, slope := 1/math.Sqrt(std*std+k.Eps), -std/math.Pow(std*std+k.Eps, 1.5)
		if k.StdPlusEps {
			r, slope = 1/(std+k.Eps), -1/((std+k.Eps)*(std+k.Eps))
		}
		for i := range c {
			sum := 0.0
			for j := range c {
				h := (row[j]-mean)*slope*(row[i]-mean)/(float64(c)*std) - r/float64(c)
				if i == j {
					h += r
				}
				sum += up[j] * w[j] * h
			}
			dx = append(dx, sum)
			dw[i] += up[i] * (row[i] - mean) * r
			db[i] += up[i]
		}
	}
	return [][]float64{dx, dw, db}
}

func softmaxCases() []Case {
	var cases []Case
	for _, log := range []bool{false, true} {
		for i, shape := range rowShapes {
			_, v := split(shape)
			x := random(uint64(i), shape...)
			for j := range x.Data {
				x.Data[j] *= 5
				if j%7 == 3 && !log {
					x.Data[j] = math.Inf(-1)
				}
			}
			y := softmaxRef(log, v, x.Data)
			name := fmt.Sprintf("%v,%v", shape, log)
			cases = append(cases, Case{
				Name:   name,
				Kernel: device.Softmax{Log: log},
				In:     []Tensor{x},
				Out:    []Tensor{empty(shape...)},
				Ref:    func(in [][]float64) [][]float64 { return [][]float64{softmaxRef(log, v, in[0])} },
			})
			if v == 1 {
				continue // the gradient is 0 but for rounding
			}
			cases = append(cases, Case{
				Name:   name,
				Kernel: device.SoftmaxGrad{Log: log},
				In:     []Tensor{random(8, shape...), of(0, shape, y...)},
				Out:    []Tensor{empty(shape...)},
				Ref:    func(in [][]float64) [][]float64 { return [][]float64{softmaxGradRef(log, v, in[0], in[1])} },
			})
		}
	}
	inf := math.Inf(1)
	for _, log := range []bool{false, true} {
		cases = append(cases, Case{
			Name:   fmt.Sprintf("hidden rows,%v", log),
			Kernel: device.Softmax{Log: log},
			In:     []Tensor{of(0, []int{3, 3}, -inf, -inf, -inf, 1e4, -inf, -1e4, -3e38, -3e38, -3e38)},
			Out:    []Tensor{empty(3, 3)},
			Ref:    func(in [][]float64) [][]float64 { return [][]float64{softmaxRef(log, 3, in[0])} },
		})
	}
	return cases
}

func softmaxRef(log bool, v int, x []float64) []float64 {
	var y []float64
	for row := range slices.Chunk(x, v) {
		top, sum := slices.Max(row), 0.0
		for _, x := range row {
			sum += math.Exp(x - top)
		}
		for _, x := range row {
			switch {
			case log && math.IsInf(x, -1):
				y = append(y, x)
			case log:
				y = append(y, x-top-math.Log(sum))
			case math.IsInf(x, -1):
				y = append(y, 0)
			default:
				y = append(y, math.Exp(x-top)/sum)
			}
		}
	}
	return y
}

// softmaxGradRef multiplies dy by the Jacobian of each row.
func softmaxGradRef(log bool, v int, dy, y []float64) []float64 {
	dx := make([]float64, len(y))
	for at := 0; at < len(y); at += v {
		for i := range v {
			for j := range v {
				same := 0.0
				if i == j {
					same = 1
				}
				if log {
					dx[at+i] += dy[at+j] * (same - math.Exp(y[at+i]))
				} else {
					dx[at+i] += dy[at+j] * y[at+j] * (same - y[at+i])
				}
			}
		}
	}
	return dx
}

func crossEntropyCases() []Case {
	var cases []Case
	for i, shape := range append(rowShapes, []int{2, 9001}) {
		for _, mean := range []bool{false, true} {
			k := device.CrossEntropy{IgnoreIndex: -100, Mean: mean}
			n, v := split(shape)
			lead := shape[:len(shape)-1]
			logits := random(uint64(i), shape...)
			targets := whole(uint64(i)+40, []device.DType{device.Int32, device.Int64}[i%2], v, lead...)
			for j := range targets.Data {
				logits.Data[j*v] *= 30
				if j%3 == 1 {
					targets.Data[j] = -100
				}
			}
			ref := func(in [][]float64) [][]float64 { return crossEntropyRef(k, v, in[0], in[1]) }
			f := ref([][]float64{logits.Data, targets.Data})
			name := fmt.Sprintf("%v,%v", shape, mean)
			cases = append(cases, Case{
				Name:   name,
				Kernel: k,
				In:     []Tensor{logits, targets},
				Out:    []Tensor{empty(), empty(), empty(n)},
				Ref:    ref,
			}, Case{
				Name:   name,
				Kernel: device.CrossEntropyGrad(k),
				In:     []Tensor{logits, targets, of(0, []int{n}, f[2]...), of(0, nil, f[1]...), of(0, nil, 0.75)},
				Out:    []Tensor{empty(shape...)},
				Ref: func(in [][]float64) [][]float64 {
					return [][]float64{crossEntropyGradRef(k, v, in[0], in[1], in[4][0])}
				},
			}, Case{
				Name:   name,
				Kernel: device.CrossEntropyBoth(k),
				In:     []Tensor{logits, targets, of(0, nil, 0.75)},
				Out:    []Tensor{empty(shape...), empty(), empty()},
				Ref: func(in [][]float64) [][]float64 {
					f := ref(in)
					return [][]float64{crossEntropyGradRef(k, v, in[0], in[1], in[2][0]), f[0], f[1]}
				},
			})
		}
	}
	return cases
}

// crossEntropyRef returns the loss, the number of counted targets and log(sum(exp)) of each row.
func crossEntropyRef(k device.CrossEntropy, v int, logits, targets []float64) [][]float64 {
	loss, count := 0.0, 0.0
	var lse []float64
	for r, target := range targets {
		row := logits[r*v : (r+1)*v]
		sum, top := 0.0, slices.Max(row)
		for _, x := range row {
			sum += math.Exp(x - top)
		}
		lse = append(lse, top+math.Log(sum))
		if int(target) != k.IgnoreIndex {
			loss -= softmaxRef(true, v, row)[int(target)]
			count++
		}
	}
	if k.Mean {
		loss /= max(count, 1)
	}
	return [][]float64{{loss}, {count}, lse}
}

func crossEntropyGradRef(k device.CrossEntropy, v int, logits, targets []float64, dloss float64) []float64 {
	count := crossEntropyRef(k, v, logits, targets)[1][0]
	if !k.Mean {
		count = 1
	}
	dx := softmaxRef(false, v, logits)
	for r, target := range targets {
		row := dx[r*v : (r+1)*v]
		if int(target) == k.IgnoreIndex {
			clear(row)
			continue
		}
		row[int(target)]--
		for i := range row {
			row[i] *= dloss / count
		}
	}
	return dx
}
