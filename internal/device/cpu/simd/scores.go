package simd

import "math"

// Scores is the kernels of attention between its matrix products. They work on strips, rows of scores that lie ld
// bytes apart, each of n+tail floats, both multiples of 16. The first n count. Of the tail those count whose float
// behind edge is +Inf and not -Inf, wherefore the scores of the others may be anything; edge moves by back bytes from
// row to row. See Edge.
type Scores struct {
	// Tops keeps in state, pairs of floats, the largest score m of each row so far and beside it the sum of the
	// weights e^(score - m) so far; where m grows the sum is scaled by what change is set to, a factor for each row.
	// FirstTops does it for the first scores of the rows, whatever state is.
	FirstTops func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale float32, state *float32)
	Tops      func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale float32, state, change *float32)
	// Weights turns scores into e^(score - m), or 0 where that is below 2^-72, and adds them to the sums in state.
	Weights func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale float32, state *float32)

	// ScoreGrad turns scores into weights w = e^(score - m)*inv, with m and inv for each row in stats, and the
	// gradients dw of the weights into those of the scores, w*(dw - delta), with a delta for each row.
	ScoreGrad func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale, slope float32, dw, stats, delta *float32)
	// Deltas and WeightGrad together are ScoreGrad with the sum of w*dw over the row for delta.
	Deltas     func(s *float32, ld, rows, n, tail int, edge *float32, back int, scale float32, dw, stats, delta *float32)
	WeightGrad func(s *float32, ld, rows, n, tail int, edge *float32, back int, slope float32, dw, delta *float32)

	// For rows of n floats:
	DotStrips     func(to, x *float32, ldx int, y *float32, ldy, rows, n int)                        // to = the sum of x*y
	AddStrip      func(y *float32, ldy int, x *float32, ldx, rows, n int)                            // y += x
	MultiplyStrip func(y *float32, ldy int, x *float32, ldx, rows, n int)                            // y *= x
	ScaleStrip    func(y *float32, ldy int, x *float32, ldx, rows, n int, factor *float32, step int) // y = x*factor, a factor every step bytes
}

// Edge returns n, tail and edge for a strip whose first row has count floats that count, and whose rows are wide
// floats: with a back of 0 for all its rows, and with one of -4 for rows that have one more each. wide is at most
// count + 48.
func Edge(count, wide int) (n, tail int, edge *float32) {
	n = max(0, count) &^ 15
	return n, (wide+15)&^15 - n, &edges[edgeAt+n-count]
}

const edgeAt = 64 // where edges changes

// edges is as many +Inf as rows of a strip may need, then -Inf.
var edges = func() (e [2 * edgeAt]float32) {
	for i := range e {
		e[i] = float32(math.Inf(edgeAt - i - 1))
	}
	return e
}()
