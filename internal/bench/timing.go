package bench

import (
	"math"
	"slices"
	"time"
)

// timed calls f once and returns how long it took.
func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

// samples calls f until about so much time is spent, at least least times, and returns how long each call
// took.
func samples(f func() error, spend time.Duration, least int) ([]time.Duration, error) {
	var all []time.Duration
	for began := time.Now(); len(all) < least || time.Since(began) < spend; {
		t, err := timed(f)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// fastest is samples after one call that warms up; it returns the shortest time.
func fastest(f func() error, spend time.Duration, least int) (time.Duration, error) {
	if err := f(); err != nil {
		return 0, err
	}
	all, err := samples(f, spend, least)
	if err != nil {
		return 0, err
	}
	return slices.Min(all), nil
}

// median returns the middle of the times, of which there is one at least.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// perSecond is a rate in 1e9 a second.
func perSecond(amount float64, t time.Duration) float64 { return amount / t.Seconds() / 1e9 }

func milliseconds(t time.Duration) float64 { return round(t.Seconds()*1e3, 3) }

// round keeps so many digits behind the point.
func round(x float64, digits int) float64 {
	unit := math.Pow(10, float64(digits))
	return math.Round(x*unit) / unit
}
