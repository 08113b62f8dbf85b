package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// pool runs the chunks of a kernel on a fixed number of workers, the caller being worker 0. The other
// workers are goroutines that start with the first parallel run and live as long as the process. Between
// runs they watch for work for a few microseconds, then sleep. run allocates nothing.
type pool struct {
	workers int
	spins   int // looks at a variable before sleeping; 0 when workers outnumber the processors
	start   sync.Once
	helpers []helper

	body  func(chunk, worker int)
	total int64
	next  atomic.Int64 // first chunk not yet taken

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

// States of a helper; a caller waiting for the helpers is ready or asleep.
const (
	ready  uint32 = iota // watching for work
	called               // work is there; the caller may still take the call back
	taken                // in body
	asleep               // wants a token in wake
)

// spinCount looks take about 10 microseconds.
const spinCount = 10_000

func newPool(workers int) *pool {
	procs := runtime.GOMAXPROCS(0)
	if workers < 1 {
		workers = procs
	}
	p := &pool{workers: workers, done: make(chan struct{}, 1)}
	if workers <= procs {
		p.spins = spinCount
	}
	return p
}

// run calls body(chunk, worker) once for every chunk in [0, chunks) and returns when all have ended.
// Chunks may run in any order and on any worker, so a body's result must not depend on the worker.
// Runs of one pool must not overlap. A panic of the body is run's.
func (p *pool) run(chunks int, body func(chunk, worker int)) {
	if p.workers == 1 || chunks < 2 {
		for i := range chunks {
			body(i, 0)
		}
		return
	}
	p.start.Do(p.spawn)
	p.body, p.total = body, int64(chunks)
	p.next.Store(0)
	helpers := p.helpers[:min(p.workers, chunks)-1]
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
		for range p.spins + 1 {
			if p.busy.Load() == 0 {
				return
			}
		}
		p.wait.Store(asleep)
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
				h.await(p.spins)
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
func (h *helper) await(spins int) {
	for {
		for range spins + 1 {
			if h.state.Load() == called && h.state.CompareAndSwap(called, taken) {
				return
			}
		}
		if h.state.CompareAndSwap(ready, asleep) {
			<-h.wake
		}
	}
}

// guard drains, and keeps a panic of the body for the caller of run, in whose goroutine it can be recovered.
func (p *pool) guard(worker int) {
	defer func() {
		if failure := recover(); failure != nil {
			kept := failure // a variable of its own, so that only a panic allocates
			p.failure.Store(&kept)
			p.next.Store(p.total) // leave the other chunks
		}
	}()
	p.drain(worker)
}

// drain takes chunks until none is left.
func (p *pool) drain(worker int) {
	for {
		i := p.next.Add(1) - 1
		if i >= p.total {
			return
		}
		p.body(int(i), worker)
	}
}
