package cpu

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

// attended holds the results of an attention and its gradient.
type attended struct{ y, stats, dq, dk, dv device.Buffer }

// attend runs the general attention on q, k, v (B, H, T, D), then rest: the mask and the random numbers.
func attend[F float](t *testing.T, kind device.Attention, q, k, v, dy refTensor, rest ...device.Buffer) attended {
	t.Helper()
	b, h, tq, dv := q.Shape[0], q.Shape[1], q.Shape[2], v.Shape[3]
	r := attended{nan[F](b, h, tq, dv), nan[F](b, h, tq, 2), nan[F](q.Shape...), nan[F](k.Shape...), nan[F](v.Shape...)}
	in := append([]device.Buffer{buf[F](q), buf[F](k), buf[F](v)}, rest...)
	launch(t, kind, []device.Buffer{r.y, r.stats}, in)
	launch(t, device.AttentionGrad(kind), []device.Buffer{r.dq, r.dk, r.dv}, append(in, r.y, r.stats, buf[F](dy)))
	return r
}

func TestAttentionReference(t *testing.T) {
	inBoth(t, testAttentionReference[float32], testAttentionReference[float64])
}

func testAttentionReference[F float](t *testing.T) {
	for _, name := range []string{
		"attention_causal_b2h3t7d5", "attention_causal_b1h2t33d16", "attention_causal_b2h1t1d4", "attention_causal_b1h2t130d8",
		"attention_no_mask_cross", "attention_bool_mask_broadcast_heads", "attention_fully_masked_row",
	} {
		c := reference(t, name)
		kind := device.Attention{Causal: c.Attrs["causal"] == true}
		var rest []device.Buffer
		if hidden, ok := c.Fixed["hidden"]; ok {
			kind.Mask = device.BoolMask
			rest = append(rest, buf[bool](hidden))
		}
		r := attend[F](t, kind, c.Inputs["q"], c.Inputs["k"], c.Inputs["v"], c.Upstream, rest...)
		wantClose[F](t, name, r.y, c.Output.Data...)
		wantGradient[F](t, name+" dq", r.dq, c.Grads["q"])
		wantGradient[F](t, name+" dk", r.dk, c.Grads["k"])
		wantGradient[F](t, name+" dv", r.dv, c.Grads["v"])
		if kind.Causal {
			testPacked[F](t, c)
		}
	}
}

// wantGradient is wantClose, but lets a gradient that is 0 throughout be rounded.
func wantGradient[F float](t *testing.T, what string, got device.Buffer, want refTensor) {
	t.Helper()
	if largest(want.Data) == 0 {
		wantWithin[F](t, what, 1e-12, got, want.Data...)
		return
	}
	wantClose[F](t, what, got, want.Data...)
}

// testPacked runs a causal case again through the packed form.
func testPacked[F float](t *testing.T, c refCase) {
	t.Helper()
	s := c.Inputs["q"].Shape
	b, h, n, d := s[0], s[1], s[2], s[3]
	width := h * d
	kind := device.Attention{Packed: true, Heads: h, Causal: true}
	qkv := pack(c.Inputs["q"], c.Inputs["k"], c.Inputs["v"])
	y, stats, dqkv := nan[F](b, n, width), nan[F](b, h, n, 2), nan[F](b, n, 3*width)
	launch(t, kind, []device.Buffer{y, stats}, []device.Buffer{buf[F](qkv)})
	launch(t, device.AttentionGrad(kind), []device.Buffer{dqkv}, []device.Buffer{buf[F](qkv), y, stats, buf[F](pack(c.Upstream))})
	wantClose[F](t, c.Name+" packed", y, pack(c.Output).Data...)
	wantClose[F](t, c.Name+" dqkv", dqkv, pack(c.Grads["q"], c.Grads["k"], c.Grads["v"]).Data...)
}

// pack lays tensors (B, H, T, D) side by side as (B, T, len(xs)*H*D).
func pack(xs ...refTensor) refTensor {
	s := xs[0].Shape
	b, h, n, d := s[0], s[1], s[2], s[3]
	out := refTensor{Shape: []int{b, n, len(xs) * h * d}}
	for bt := range b * n {
		for _, x := range xs {
			for head := range h {
				at := ((bt/n*h+head)*n + bt%n) * d
				out.Data = append(out.Data, x.Data[at:at+d]...)
			}
		}
	}
	return out
}

func matrixOf(cols int, values ...float64) refTensor {
	return refTensor{[]int{1, 1, len(values) / cols, cols}, values}
}

// Scores are divided by the root of the head's width: other scales give visibly other weights.
func TestAttentionScale(t *testing.T) {
	inBoth(t, testAttentionScale[float32], testAttentionScale[float64])
}

func testAttentionScale[F float](t *testing.T) {
	for _, c := range []struct {
		q, k  refTensor
		first float64 // weight of the first key
	}{
		{matrixOf(4, 2, 0, 0, 0), matrixOf(4, 2, 0, 0, 0, 0, 0, 0, 0), 0.88079708},
		{matrixOf(3, 3, 0, 0), matrixOf(3, 1, 0, 0, 0, 0, 0), 0.84967455},
	} {
		r := attend[F](t, device.Attention{}, c.q, c.k, matrixOf(2, 1, 0, 0, 1), matrixOf(2, 1, 1))
		wantWithin[F](t, "weights", 1e-7, r.y, c.first, 1-c.first)
	}
}

func TestAttentionCausalValues(t *testing.T) {
	inBoth(t, testAttentionCausalValues[float32], testAttentionCausalValues[float64])
}

func testAttentionCausalValues[F float](t *testing.T) {
	q, v := matrixOf(2, 1, 0, 0, 1, 1, 1), matrixOf(2, 1, 2, 3, 4, 5, 6)
	r := attend[F](t, device.Attention{Causal: true}, q, q, v, v)
	wantWithin[F](t, "y", 1e-6, r.y, 1, 2, 2.3395231, 3.3395231, 3.51046953, 4.51046953)
}

// The lesson's three tokens: identity projections, two heads.
func TestAttentionWalkthrough(t *testing.T) {
	c := reference(t, "walkthrough_three_tokens_two_heads")
	x := c.Inputs["x"] // (T, C)
	var qkv []float64
	for i := 0; i < len(x.Data); i += 4 {
		qkv = append(qkv, slices.Repeat(x.Data[i:i+4], 3)...)
	}
	y, stats := nan[float64](1, 3, 4), nan[float64](1, 2, 3, 2)
	launch(t, device.Attention{Packed: true, Heads: 2}, []device.Buffer{y, stats}, []device.Buffer{bufOf[float64]([]int{1, 3, 12}, qkv...)})
	wantClose[float64](t, "y", y, c.Output.Data...)
}

// With scores of 0, an additive mask of [0 -Inf 0] gives weights [0.5 0 0.5]; a row of -Inf gives none,
// and no gradient.
func TestAttentionHiddenByInfinity(t *testing.T) {
	inBoth(t, testAttentionHiddenByInfinity[float32], testAttentionHiddenByInfinity[float64])
}

func testAttentionHiddenByInfinity[F float](t *testing.T) {
	inf := math.Inf(1)
	mask := bufOf[F]([]int{2, 3}, 0, -inf, 0, -inf, -inf, -inf)
	q, eye := matrixOf(2, 0, 0, 5, 5), matrixOf(3, 1, 0, 0, 0, 1, 0, 0, 0, 1)
	r := attend[F](t, device.Attention{Mask: device.AdditiveMask}, q, matrixOf(2, 1, 2, 3, 4, 5, 6), eye, matrixOf(3, 1, 2, 3, 4, 5, 6), mask)
	wantWithin[F](t, "y", 0, r.y, 0.5, 0, 0.5, 0, 0, 0)
	wantWithin[F](t, "stats", 0, r.stats, 0, 0.5, 0, 0)
	wantWithin[F](t, "dv", 0, r.dv, 0.5, 1, 1.5, 0, 0, 0, 0.5, 1, 1.5)
	// Row 0: ds = w*(dy·v - dy·y) = 0.5*(1-2), 0, 0.5*(3-2); dq = ds·k/sqrt(2); dk is 0 because q is.
	wantWithin[F](t, "dq", 1e-6, r.dq, 2/math.Sqrt2, 2/math.Sqrt2, 0, 0)
	wantWithin[F](t, "dk", 0, r.dk, 0, 0, 0, 0, 0, 0)
}

// What a hidden key holds changes nothing, to the bit.
func TestAttentionHiddenKeyDoesNotLeak(t *testing.T) {
	inBoth(t, testAttentionHiddenKeyDoesNotLeak[float32], testAttentionHiddenKeyDoesNotLeak[float64])
}

func testAttentionHiddenKeyDoesNotLeak[F float](t *testing.T) {
	inf := math.Inf(1)
	masks := map[device.MaskKind]device.Buffer{
		device.BoolMask:     bufOf[bool]([]int{2, 3}, 0, 1, 0, 0, 1, 0),
		device.AdditiveMask: bufOf[F]([]int{2, 3}, 0, -inf, 1, 0, -inf, 1),
	}
	q, dy := matrixOf(2, 1, 2, 3, -4), matrixOf(2, 0.5, -1, 2, 1)
	for kind, mask := range masks {
		var results []attended
		for _, x := range []float64{0.25, 1e10, -1e10} {
			k, v := matrixOf(2, 1, 0, x, x, 0.5, 1), matrixOf(2, 1, -1, x, x, 2, 3)
			results = append(results, attend[F](t, device.Attention{Mask: kind}, q, k, v, dy, mask))
		}
		for _, r := range results[1:] {
			wantSame(t, device.Slice[F](r.y), device.Slice[F](results[0].y))
			wantSame(t, device.Slice[F](r.dq), device.Slice[F](results[0].dq))
			wantSame(t, device.Slice[F](r.dk), device.Slice[F](results[0].dk))
			wantSame(t, device.Slice[F](r.dv), device.Slice[F](results[0].dv))
		}
	}
}

// A query whose keys are all hidden attends evenly to those that the causal mask lets it see.
func TestAttentionHiddenCausalRow(t *testing.T) {
	x := matrixOf(2, 1, 2, 3, 4, 5, 9)
	r := attend[float32](t, device.Attention{Causal: true, Mask: device.BoolMask}, x, x, x, x, bufOf[bool]([]int{3, 3}, constant(9, 1)...))
	wantWithin[float32](t, "y", 1e-6, r.y, 1, 2, 2, 3, 3, 5)
	wantWithin[float32](t, "dq", 0, r.dq, constant(6, 0)...)
	wantWithin[float32](t, "dk", 0, r.dk, constant(6, 0)...)
}

// Whatever token t holds, no bit of the rows before it changes.
func TestAttentionSeesNoFuture(t *testing.T) {
	inBoth(t, testAttentionSeesNoFuture[float32], testAttentionSeesNoFuture[float64])
}

func testAttentionSeesNoFuture[F float](t *testing.T) {
	const n, h, d = 21, 2, 3
	kind := device.Attention{Packed: true, Heads: h, Causal: true, P: 0.2}
	qkv := make([]F, n*3*h*d)
	for i := range qkv {
		qkv[i] = F(math.Sin(float64(i * i)))
	}
	run := func() []F {
		y := nan[F](1, n, h*d)
		launch(t, kind, []device.Buffer{y, nan[F](1, h, n, 2)}, []device.Buffer{device.Of(qkv, 1, n, 3*h*d), device.Of([]int64{1, 2, 3})})
		return device.Slice[F](y)
	}
	before := run()
	for token := n - 1; token >= 0; token-- { // from the last, so that earlier changes stay in the future
		for c := range 3 * h * d {
			qkv[token*3*h*d+c] = F([]float64{math.NaN(), math.Inf(1), 1e10}[c%3])
		}
		wantSame(t, run()[:token*h*d], before[:token*h*d])
	}
}

// TestAttentionGradSeesNoFuture: a NaN in a key or value of the future reaches no gradient of a query before it, and
// one in a query, or what comes back to it, no gradient of a key behind it.
func TestAttentionGradSeesNoFuture(t *testing.T) {
	const n, d = 40, 5
	everySet(t, func(t *testing.T, set *simd.Set) {
		for bad := range n {
			for which, name := range []string{"q", "k", "v", "dy"} {
				in := make([]device.Buffer, 4)
				for i := range in {
					x := make([]float32, n*d)
					for j := range x {
						x[j] = float32(math.Sin(float64(i + j*j)))
					}
					if i == which {
						x[bad*d] = float32(math.NaN())
						x[bad*d+1] = float32(math.Inf(1))
					}
					in[i] = device.Of(x, 1, 1, n, d)
				}
				y, stats := nan[float32](1, 1, n, d), nan[float32](1, 1, n, 2)
				k := device.Attention{Causal: true}
				dev := NewWith(1, set)
				run := func(k device.Kernel, out, in []device.Buffer) []device.Buffer {
					l, err := dev.Prepare(k, out, in)
					if err != nil {
						t.Fatal(err)
					}
					if err := l(); err != nil {
						t.Fatal(err)
					}
					return out
				}
				run(k, []device.Buffer{y, stats}, in[:3])
				grads := run(device.AttentionGrad(k), []device.Buffer{nan[float32](1, 1, n, d), nan[float32](1, 1, n, d), nan[float32](1, 1, n, d)},
					[]device.Buffer{in[0], in[1], in[2], y, stats, in[3]})
				from, to := 0, bad // clean rows of dq, by a bad key or value
				clean := grads[:1]
				if name == "q" || name == "dy" {
					from, to, clean = bad+1, n, grads[1:]
				}
				for g, b := range clean {
					for i, v := range device.Slice[float32](b)[from*d : to*d] {
						if math.IsNaN(float64(v)) {
							t.Fatalf("%s row %d is bad: gradient %d, row %d is NaN", name, bad, g, from+i/d)
						}
					}
				}
			}
		}
	})
}

func TestAttentionErrors(t *testing.T) {
	q, k := nan[float32](2, 3, 4, 5), nan[float32](2, 3, 6, 5)
	y, stats := nan[float32](2, 3, 4, 5), nan[float32](2, 3, 4, 2)
	mask := func(shape ...int) device.Buffer { return bufOf[bool](shape, constant(product(shape), 0)...) }
	hidden := device.Attention{Mask: device.BoolMask}
	for _, c := range []struct {
		k    device.Attention
		in   []device.Buffer
		want []string
	}{
		{hidden, []device.Buffer{q, k, k, mask(4, 5)}, []string{"[4 5]", "[2 3 4 6]"}},
		{hidden, []device.Buffer{q, k, k, mask(3, 3, 4, 6)}, []string{"[3 3 4 6]", "[2 3 4 6]"}},
		{hidden, []device.Buffer{q, k, k, mask(2, 2, 4, 6)}, []string{"[2 2 4 6]", "[2 3 4 6]"}},
		{hidden, []device.Buffer{q, k, k, mask(3, 4, 6)}, []string{"[3 4 6]", "[2 3 4 6]"}},
		{hidden, []device.Buffer{q, k, k, mask(6)}, []string{"[6]", "[2 3 4 6]"}},
		{hidden, []device.Buffer{q, k, k, nan[float32](4, 6)}, []string{"bool", "float32"}},
		{device.Attention{Mask: device.AdditiveMask}, []device.Buffer{q, k, k, mask(4, 6)}, []string{"bool", "float32"}},
		{device.Attention{Mask: 9}, []device.Buffer{q, k, k, nan[float32](4, 6)}, []string{"mask", "9"}},
		{device.Attention{}, []device.Buffer{q, nan[float32](2, 3, 6, 4), k}, []string{"[2 3 4 5]", "[2 3 6 4]"}},
		{device.Attention{}, []device.Buffer{q, k, nan[float32](2, 3, 5, 5)}, []string{"[2 3 6 5]", "[2 3 5 5]"}},
		{device.Attention{P: 1}, []device.Buffer{q, k, k}, []string{"1", "[0, 1)"}},
		{device.Attention{P: -0.1}, []device.Buffer{q, k, k}, []string{"-0.1", "[0, 1)"}},
		{device.Attention{P: 0.1}, []device.Buffer{q, k, k}, []string{"4 inputs", "3"}},
		{device.Attention{P: 0.1}, []device.Buffer{q, k, k, device.Of([]int64{1, 2})}, []string{"rng", "[2]", "[3]"}},
		{device.Attention{Packed: true, Heads: 3}, []device.Buffer{nan[float32](2, 4, 30)}, []string{"[2 4 30]", "3 heads"}},
		{device.Attention{Packed: true}, []device.Buffer{nan[float32](2, 4, 30)}, []string{"[2 4 30]", "0 heads"}},
	} {
		_, err := New(1).Prepare(c.k, []device.Buffer{y, stats}, c.in)
		if err == nil {
			t.Errorf("%+v: no error, want one with %q", c.k, c.want)
			continue
		}
		for _, part := range append(c.want, "attention") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: error is %q, want %q in it", c.k, err, part)
			}
		}
	}
}
