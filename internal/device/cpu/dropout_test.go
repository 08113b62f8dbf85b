package cpu

import (
	"math"
	"slices"
	"testing"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu/simd"
)

func dropped[F float](t *testing.T, k device.Dropout, x device.Buffer, rng ...int64) []F {
	t.Helper()
	y := nan[F](x.Shape...)
	launch(t, k, []device.Buffer{y}, []device.Buffer{x, device.Of(rng)})
	return device.Slice[F](y)
}

// Kept values are divided by the probability to keep, so that the mean stays.
func TestDropoutStatistics(t *testing.T) {
	inBoth(t, testDropoutStatistics[float32], testDropoutStatistics[float64])
}

func testDropoutStatistics[F float](t *testing.T) {
	x := bufOf[F]([]int{10, 10_000}, constant(100_000, 3)...)
	zeros, sum := 0, 0.0
	for i, y := range dropped[F](t, device.Dropout{P: 0.25}, x, 1337, 1, 0) {
		switch y {
		case 0:
			zeros++
		case 4:
			sum += 4
		default:
			t.Fatalf("value %d is %v, want 0 or 4", i, y)
		}
	}
	if share := float64(zeros) / 1e5; math.Abs(share-0.25) > 0.007 {
		t.Errorf("share of zeros is %v, want 0.25 within 0.007", share)
	}
	if mean := sum / 1e5; math.Abs(mean-3) > 0.03 {
		t.Errorf("mean is %v, want 3 within 0.03", mean)
	}
}

func TestDropoutOfNothingIsIdentity(t *testing.T) {
	x := bufOf[float32]([]int{2, 3}, 1, -2, 3, math.Inf(1), -5, 6)
	y := nan[float32](2, 3)
	noRandom := device.Buffer{Spec: device.Spec{DType: device.Int64, Shape: []int{3}}} // reading it would crash
	launch(t, device.Dropout{}, []device.Buffer{y}, []device.Buffer{x, noRandom})
	wantSame(t, device.Slice[float32](y), device.Slice[float32](x))
	launch(t, device.KeepMask{}, []device.Buffer{y}, []device.Buffer{noRandom})
	wantSame(t, device.Slice[float32](y), []float32{1, 1, 1, 1, 1, 1})
}

// Seed, step, site and sample each give other numbers; a micro-batch gives those of its samples.
func TestDropoutCounters(t *testing.T) {
	x := bufOf[float64]([]int{4, 65}, constant(4*65, 1)...)
	k := device.Dropout{P: 0.5, Site: 7}
	all := dropped[float64](t, k, x, -3, 9, 0)
	for name, other := range map[string][]float64{
		"seed":                dropped[float64](t, k, x, -4, 9, 0),
		"high word of seed":   dropped[float64](t, k, x, -3^1<<32, 9, 0),
		"step":                dropped[float64](t, k, x, -3, 10, 0),
		"site":                dropped[float64](t, device.Dropout{P: 0.5, Site: 8}, x, -3, 9, 0),
		"index of the sample": dropped[float64](t, k, x, -3, 9, 4),
	} {
		if same := agreement(all, other); same < 0.3 || same > 0.7 {
			t.Errorf("with another %s a share of %.2f stays, want about half", name, same)
		}
	}
	half := bufOf[float64]([]int{2, 65}, constant(2*65, 1)...)
	wantSame(t, append(dropped[float64](t, k, half, -3, 9, 0), dropped[float64](t, k, half, -3, 9, 2)...), all)
}

// TestFactorsFromAnywhere compares parts of a sample, drawn from any first element on, with the whole in plain Go.
func TestFactorsFromAnywhere(t *testing.T) {
	const n, sample = 300, 3
	k := device.Dropout{P: 0.4, Site: 5}
	rng := device.Of([]int64{7, -8, 1 << 40})
	whole, x, residual := make([]float32, n), make([]float32, n), make([]float32, n)
	plain, err := newKeeper[float32](k, k.P, k.Site, n, rng)
	if err != nil {
		t.Fatal(err)
	}
	plain.factors(whole, sample, 0)
	for i := range x {
		x[i], residual[i] = float32(i)-150.3, float32(i%7)+0.1
	}
	everySet(t, func(t *testing.T, set *simd.Set) {
		keep, err := newKeeper[float32](k, k.P, k.Site, n, rng)
		if err != nil {
			t.Fatal(err)
		}
		keep.on(NewWith(1, set))
		for first := range 9 {
			for _, length := range []int{1, 2, 3, 4, 5, 16, 31, 64, 65, n - first} {
				part, want := make([]float32, length), whole[first:][:length]
				keep.factors(part, sample, first)
				wantSame(t, part, want)
				kept, added := make([]float32, length), make([]float32, length)
				for i, f := range want {
					kept[i] = float32(x[first+i] * f)
					added[i] = kept[i] + residual[first+i]
				}
				keep.apply(part, x[first:][:length], nil, sample, first)
				wantSame(t, part, kept)
				keep.apply(part, x[first:][:length], residual[first:][:length], sample, first)
				wantSame(t, part, added)
			}
		}
	})
}

func agreement(a, b []float64) float64 {
	n := 0
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

func wantSame[F float](t *testing.T, got, want []F) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
