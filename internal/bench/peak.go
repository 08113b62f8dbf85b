package bench

import (
	"math"
	"sync"
	"time"
	"unsafe"

	"tinylm/internal/device/cpu"
	"tinylm/internal/device/cpu/simd"
)

// Peak returns the rate of float32 operations, in GF/s, that multiply-adds reach on so many threads when
// nothing else is done: two operations each, by the instruction set in use. It is the best of a few runs.
func Peak(threads int) (float64, error) {
	set, err := simd.FromEnv()
	if err != nil {
		return 0, err
	}
	loop, turn, turns := plainMultiplyAdds, plainTurn, 200_000
	if set != nil {
		loop, turn, turns = set.MultiplyAdds, set.MultiplyAddsTurn, 2_000_000
	}
	counts := buffers(threads, set)
	took := fastestTogether(threads, peakRuns, func(thread int) { loop(turns, &counts[thread][0]) })
	return perSecond(2*float64(threads)*float64(turns)*float64(turn), took), nil
}

// peakRuns of some 50 milliseconds each are measured: long enough that no burst of a faster clock counts.
const peakRuns = 5

// bandwidthBytes is more than caches hold.
const bandwidthBytes = 512 << 20

// bandwidth returns the rate, in GB/s, at which so many threads read memory, each from its part of an array
// in memory such as machines have. It is the best of the runs.
func bandwidth(threads, bytes, runs int) (float64, error) {
	set, err := simd.FromEnv()
	if err != nil {
		return 0, err
	}
	loop, turn := plainRead, plainTurn
	if set != nil {
		loop, turn = set.Read, set.ReadTurn
	}
	turns := max(1, bytes/threads/floatBytes/turn)
	part := turns * turn
	memory, err := cpu.Default().Alloc(floatBytes * threads * part)
	if err != nil {
		return 0, err
	}
	array := unsafe.Slice((*float32)(memory), threads*part)
	for i := range array {
		array[i] = 1 // memory never written to is all one page of zeros
	}
	sums := buffers(threads, set)
	took := fastestTogether(threads, runs, func(thread int) { loop(turns, &array[thread*part], &sums[thread][0]) })
	return perSecond(floatBytes*float64(len(array)), took), nil
}

// buffers returns memory for the result of every thread's loop, in cache lines of its own.
func buffers(threads int, set *simd.Set) [][]float32 {
	const line = 16
	lanes := line
	if set != nil {
		lanes = max(lanes, set.Lanes)
	}
	all := make([][]float32, threads)
	for i := range all {
		all[i] = make([]float32, lanes+line)
	}
	return all
}

// fastestTogether calls f at once on so many threads, several times, and returns the shortest time until
// all have ended.
func fastestTogether(threads, runs int, f func(thread int)) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range runs {
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		for thread := range threads {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-start
				f(thread)
			})
		}
		ready.Wait()
		began := time.Now()
		close(start)
		done.Wait()
		best = min(best, time.Since(began))
	}
	return best
}
