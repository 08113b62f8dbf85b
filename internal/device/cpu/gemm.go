package cpu

import "unsafe"

// A product C = A·B is computed in tiles of C, each by one chunk of work, always over the same blocks of
// K in the same order. Within a tile, a block of A and one of B are first packed into panels that the
// innermost loop reads from front to back whatever the layout of A and B (Goto and van de Geijn 2008).
const (
	panelA   = 2   // rows of a panel of A
	panelB   = 4   // columns of a panel of B
	blockK   = 256 // terms added up before they join C, which keeps long sums accurate
	tileMax  = 128 // rows and columns of the largest tile
	tileMin  = 32
	tileGoal = 16 // tiles wanted, so that the cores finish together
)

// operand is a matrix inside data, element (i, k) at data[i*row+k*col]. One of the strides is 1.
// The index k is the one that the product sums over.
type operand[F float] struct {
	data     []F
	row, col int
}

// rowMajor is a matrix whose rows are contiguous along k and n long; with trans, its transpose.
func rowMajor[F float](data []F, n int, trans bool) operand[F] {
	if trans {
		return operand[F]{data, 1, n}
	}
	return operand[F]{data, n, 1}
}

// gemm is a series of equal products C (M, N) = (start (M, N) + bias (N) + f(A) (M, K) · h(B) (K, N)) * g'(at)
// with what is not given left out.
type gemm[F float] struct {
	m, n, k int
	count   int        // products; each operand's matrices lie one after the other
	a, b    operand[F] // b by (column, k)
	c       []F

	start, bias    []F                 // nil: none; start may be c
	inputA, inputB func(y, x []F)      // f and h; nil: none
	slope          func(dx, dy, x []F) // multiplies dy by g'(x); nil: none
	at             []F                 // (M, N)

	tileM, tileN int
	rows, cols   int // tiles of one product
	perChunk     int // tiles
}

// plan chooses the tiles and returns the number of chunks and the scratch bytes of a worker.
func (g *gemm[F]) plan() (chunks, scratch int) {
	g.tileM = min(tileMax, roundUp(g.m, panelA))
	g.tileN = min(tileMax, roundUp(g.n, panelB))
	for {
		g.rows, g.cols = chunksOf(g.m, max(1, g.tileM)), chunksOf(g.n, max(1, g.tileN))
		if g.count*g.rows*g.cols >= tileGoal || max(g.tileM, g.tileN) <= tileMin {
			break
		}
		if g.tileM > g.tileN {
			g.tileM = roundUp(g.tileM/2, panelA)
		} else {
			g.tileN = roundUp(g.tileN/2, panelB)
		}
	}
	g.perChunk = rowsPerChunk(g.tileM * g.tileN * max(g.k, 4) / 4)
	var z F
	scratch = (g.tileM + g.tileN) * min(g.k, blockK) * int(unsafe.Sizeof(z))
	return chunksOf(g.count*g.rows*g.cols, g.perChunk), scratch
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// chunk computes the tiles of one chunk.
func (g *gemm[F]) chunk(chunk int, scratch []F) {
	from, to := chunkRange(chunk, g.perChunk, g.count*g.rows*g.cols)
	for t := from; t < to; t++ {
		p, row, col := t/(g.rows*g.cols), t/g.cols%g.rows, t%g.cols
		a, b := g.a, g.b
		a.data = a.data[p*g.m*g.k:][:g.m*g.k]
		b.data = b.data[p*g.n*g.k:][:g.n*g.k]
		c := g.c[p*g.m*g.n:][:g.m*g.n]
		g.tile(c, a, b, row*g.tileM, col*g.tileN, scratch)
	}
}

// tile computes the tile of one product whose first element is (i0, j0).
func (g *gemm[F]) tile(c []F, a, b operand[F], i0, j0 int, scratch []F) {
	m, n := min(g.tileM, g.m-i0), min(g.tileN, g.n-j0)
	c = c[i0*g.n+j0:]
	for i := range m {
		g.begin(c[i*g.n:][:n], i0+i, j0)
	}
	for k0 := 0; k0 < g.k; k0 += blockK {
		k := min(blockK, g.k-k0)
		packedA := scratch[:roundUp(m, panelA)*k]
		packedB := scratch[g.tileM*k:][:roundUp(n, panelB)*k]
		pack2(packedA, a, i0, m, k0, k)
		pack4(packedB, b, j0, n, k0, k)
		if g.inputA != nil {
			g.inputA(packedA, packedA)
		}
		if g.inputB != nil {
			g.inputB(packedB, packedB)
		}
		for i := 0; i < m; i += panelA {
			pa := packedA[i*k:][:panelA*k]
			for j := 0; j < n; j += panelB {
				pb := packedB[j*k:][:panelB*k]
				var sums [panelA * panelB]F
				multiplyPanels(pa, pb, &sums)
				addSums(c[i*g.n+j:], g.n, min(panelA, m-i), min(panelB, n-j), &sums)
			}
		}
	}
	for i := range m {
		g.finish(c[i*g.n:][:n], i0+i, j0)
	}
}

// finish multiplies a part of row i of C, from column j on, by the slope.
func (g *gemm[F]) finish(row []F, i, j int) {
	if g.slope != nil {
		g.slope(row, row, g.at[i*g.n+j:][:len(row)])
	}
}

// begin sets a part of row i of C, from column j on, to what the sums begin with.
func (g *gemm[F]) begin(row []F, i, j int) {
	switch {
	case g.start == nil && g.bias == nil:
		clear(row)
	case g.start == nil:
		copy(row, g.bias[j:])
	default:
		copy(row, g.start[i*g.n+j:])
		if g.bias != nil {
			for x, v := range g.bias[j:][:len(row)] {
				row[x] += v
			}
		}
	}
}

// addSums adds the first m rows and n columns of sums to c, whose rows are ldc apart.
func addSums[F float](c []F, ldc, m, n int, sums *[panelA * panelB]F) {
	for i := range m {
		row, s := c[i*ldc:][:n], sums[i*panelB:][:panelB]
		if len(row) == panelB {
			row[0] += s[0]
			row[1] += s[1]
			row[2] += s[2]
			row[3] += s[3]
			continue
		}
		for j := range row {
			row[j] += s[j]
		}
	}
}

// multiplyPanels is the innermost loop: sums (2, 4) = the sum over k of a's column k times b's row k.
// The two steps in one turn halve the cost of moving along; more accumulators would not fit the
// registers.
func multiplyPanels[F float](a, b []F, sums *[panelA * panelB]F) {
	var s00, s01, s02, s03, s10, s11, s12, s13 F
	for len(a) >= 2*panelA && len(b) >= 2*panelB {
		x := a[0]
		s00 += F(x * b[0])
		s01 += F(x * b[1])
		s02 += F(x * b[2])
		s03 += F(x * b[3])
		x = a[1]
		s10 += F(x * b[0])
		s11 += F(x * b[1])
		s12 += F(x * b[2])
		s13 += F(x * b[3])
		x = a[2]
		s00 += F(x * b[4])
		s01 += F(x * b[5])
		s02 += F(x * b[6])
		s03 += F(x * b[7])
		x = a[3]
		s10 += F(x * b[4])
		s11 += F(x * b[5])
		s12 += F(x * b[6])
		s13 += F(x * b[7])
		a, b = a[2*panelA:], b[2*panelB:]
	}
	if len(a) >= panelA && len(b) >= panelB {
		x, y := a[0], a[1]
		s00 += F(x * b[0])
		s01 += F(x * b[1])
		s02 += F(x * b[2])
		s03 += F(x * b[3])
		s10 += F(y * b[0])
		s11 += F(y * b[1])
		s12 += F(y * b[2])
		s13 += F(y * b[3])
	}
	*sums = [panelA * panelB]F{s00, s01, s02, s03, s10, s11, s12, s13}
}
