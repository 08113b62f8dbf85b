package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tinylm/internal/device/cpu/simd"
)

// pool runs the chunks of a kernel on a fixed number of workers, the caller being worker 0. The other
// workers are goroutines that start with the first parallel run and live as long as the process. Between
// runs they watch for work for a while, then sleep. run allocates nothing.
//
// The chunks are dealt out in ranges, one for each worker, so that a worker meets in its cache what it wrote
// in the kernel before. Who is done with its own range goes on with those of the others.
type pool struct {
	workers int
	patient bool // workers watch before they sleep: not when they outnumber the processors
	start   sync.Once
	helpers []helper

	body   func(chunk, worker int)
	ranges []chunks // of the workers that take part

	busy atomic.Int64  // helpers that may still be in body
	done chan struct{} // sent by the last helper to end when the caller sleeps
	wait atomic.Uint32 // state of the caller: ready or asleep

	failure atomic.Pointer[any] // what a body panicked with
}

type helper struct {
	state atomic.Uint32
	wake  chan struct{} // holds at most one token
	_     [48]byte      // a cache line for each
}

// chunks is a range of chunks, of which those before next are taken.
type chunks struct {
	next atomic.Int64
	end  int64
	_    [48]byte // a cache line for each
}

// States of a helper; a caller waiting for the helpers is ready or asleep.
const (
	ready  uint32 = iota // watching for work
	called               // work is there; the caller may still take the call back
	taken                // in body
	asleep               // wants a token in wake
)

// patience is how long a worker watches before it sleeps: longer than a program takes between the kernels
// of a step, and little beside the time that it takes to wake up.
const patience = 100 * time.Microsecond

func newPool(workers int) *pool {
	procs := runtime.GOMAXPROCS(0)
	if workers < 1 {
		workers = procs
	}
	return &pool{workers: workers, patient: workers <= procs, ranges: make([]chunks, workers), done: make(chan struct{}, 1)}
}

// run calls body(chunk, worker) once for every chunk in [0, total) and returns when all have ended.
// Chunks may run in any order and on any worker, so a body's result must not depend on the worker.
// Runs of one pool must not overlap. A panic of the body is run's.
func (p *pool) run(total int, body func(chunk, worker int)) {
	if p.workers == 1 || total < 2 {
		for i := range total {
			body(i, 0)
		}
		return
	}
	p.start.Do(p.spawn)
	p.body = body
	workers := min(p.workers, total)
	p.ranges = p.ranges[:workers]
	for w := range p.ranges {
		p.ranges[w].next.Store(int64(w * total / workers))
		p.ranges[w].end = int64((w + 1) * total / workers)
	}
	helpers := p.helpers[:workers-1]
	p.busy.Store(int64(len(helpers)))
	for i := range helpers {
		h := &helpers[i]
		if h.state.Swap(called) == asleep {
			h.wake <- struct{}{}
		}
	}
	p.guard(0)
	// All chunks are taken: who has not begun by now need not.
	for i := range helpers {
		if helpers[i].state.CompareAndSwap(called, ready) {
			p.busy.Add(-1)
		}
	}
	p.join()
	p.body = nil
	if failure := p.failure.Swap(nil); failure != nil {
		panic(*failure)
	}
}

// join returns when no helper is busy. A helper of the run before may be late with its token, so a
// token is only a reason to look again.
func (p *pool) join() {
	for {
		for w := watch(p.patient); ; {
			if p.busy.Load() == 0 {
				return
			}
			if !w.on() {
				break
			}
		}
		p.wait.Swap(asleep) // not Store: emulators of arm64 let the next load overtake that
		if p.busy.Load() == 0 && p.wait.CompareAndSwap(asleep, ready) {
			return
		}
		<-p.done
	}
}

func (p *pool) spawn() {
	p.helpers = make([]helper, p.workers-1)
	for i := range p.helpers {
		h := &p.helpers[i]
		h.wake = make(chan struct{}, 1)
		go func() {
			for {
				h.await(p.patient)
				p.guard(i + 1)
				h.state.Store(ready)
				if p.busy.Add(-1) == 0 && p.wait.CompareAndSwap(asleep, ready) {
					p.done <- struct{}{}
				}
			}
		}()
	}
}

// await returns when the helper has taken a call.
func (h *helper) await(patient bool) {
	for {
		for w := watch(patient); ; {
			if h.state.Load() == called && h.state.CompareAndSwap(called, taken) {
				return
			}
			if !w.on() {
				break
			}
		}
		if h.state.CompareAndSwap(ready, asleep) {
			<-h.wake
		}
	}
}

// A watcher counts the looks at a variable.
type watcher struct {
	looks int
	until time.Time
}

func watch(patient bool) watcher {
	w := watcher{}
	if patient {
		w.until = time.Now().Add(patience)
	}
	return w
}

// on waits a moment and tells whether to look again.
func (w *watcher) on() bool {
	w.looks++
	if w.looks%64 == 0 && !time.Now().Before(w.until) || w.until.IsZero() {
		return false
	}
	simd.Pause()
	return true
}

// guard drains, and keeps a panic of the body for the caller of run, in whose goroutine it can be recovered.
func (p *pool) guard(worker int) {
	defer func() {
		if failure := recover(); failure != nil {
			kept := failure // a variable of its own, so that only a panic allocates
			p.failure.Store(&kept)
			for i := range p.ranges { // leave the other chunks
				p.ranges[i].next.Store(p.ranges[i].end)
			}
		}
	}()
	p.drain(worker)
}

// drain takes chunks until none is left, its own first.
func (p *pool) drain(worker int) {
	n := len(p.ranges)
	for i := range n {
		r := &p.ranges[(worker+i)%n]
		for {
			chunk := r.next.Add(1) - 1
			if chunk >= r.end {
				break
			}
			p.body(int(chunk), worker)
		}
	}
}
