package cpu

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestPoolRunsEachChunkOnce makes many runs of changing length, with pauses that let the helpers sleep.
func TestPoolRunsEachChunkOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			p := newPool(workers)
			count := make([]int, 37)  // plain memory: the race detector sees a chunk that runs twice at once
			var stranger atomic.Int64 // a worker that the pool does not have
			body := func(chunk, w int) {
				count[chunk]++
				if w >= workers {
					stranger.Store(int64(w))
				}
			}
			want := make([]int, len(count))
			for i := range 2000 {
				n := i % (len(count) + 1)
				p.run(n, body)
				for c := range n {
					want[c]++
				}
				if i%200 == 0 {
					time.Sleep(200 * time.Microsecond)
				}
			}
			for c := range count {
				if count[c] != want[c] {
					t.Errorf("chunk %d ran %d times, want %d", c, count[c], want[c])
				}
			}
			if w := stranger.Load(); w != 0 {
				t.Errorf("chunk ran on worker %d of %d", w, workers)
			}
		})
	}
}

// TestPoolUsesAllWorkers holds every chunk until each worker has one.
func TestPoolUsesAllWorkers(t *testing.T) {
	const workers = 4
	p := newPool(workers)
	var arrived atomic.Int64
	var seen [workers]atomic.Bool
	p.run(workers, func(_, worker int) {
		seen[worker].Store(true)
		arrived.Add(1)
		for arrived.Load() < workers {
			runtime.Gosched()
		}
	})
	for i := range seen {
		if !seen[i].Load() {
			t.Errorf("worker %d had no chunk", i)
		}
	}
}

func BenchmarkPool(b *testing.B) {
	body := func(chunk, worker int) {}
	p := newPool(0)
	b.ReportAllocs()
	for b.Loop() {
		p.run(16, body)
	}
}

// A panic in any worker's chunk comes out of run, once, and the pool works on.
func TestPoolPanicIsTheCallers(t *testing.T) {
	p := newPool(3)
	for range 20 {
		got := func() (failure any) {
			defer func() { failure = recover() }()
			p.run(50, func(chunk, _ int) {
				if chunk%10 == 3 {
					panic("chunk")
				}
			})
			return nil
		}()
		if got != "chunk" {
			t.Fatalf("run panicked with %v, want the body's panic", got)
		}
		var ran atomic.Int64
		p.run(50, func(int, int) { ran.Add(1) })
		if ran.Load() != 50 {
			t.Fatalf("after a panic %d of 50 chunks ran", ran.Load())
		}
	}
}
