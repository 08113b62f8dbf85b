package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"syscall"
)

// profileFlags say where to record what the program does. All commands have them.
type profileFlags struct {
	CPUProfile string `name:"cpuprofile" placeholder:"FILE" help:"Write a profile of the processors' time into this file, for go tool pprof."`
	Trace      string `name:"trace" placeholder:"FILE" help:"Write a trace of the execution into this file, for go tool trace."`
}

// around runs a command and records what it does, as the flags ask for.
func (p profileFlags) around(command string, run func() error) error {
	if p == (profileFlags{}) {
		return run()
	}
	made, stop, err := p.start()
	if err != nil {
		return err
	}
	if command != "train" { // which ends after its step, and comes back here
		defer atSignal(stop)()
	}
	err = errors.Join(run(), stop())
	if errors.As(err, new(usageError)) { // nothing was done that could be recorded
		for _, path := range made {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// start begins what the flags ask for. stop ends it and completes the files; it may be called more than once. made
// are the files that were not there before.
func (p profileFlags) start() (made []string, stop func() error, err error) {
	if p.CPUProfile != "" && filepath.Clean(p.CPUProfile) == filepath.Clean(p.Trace) {
		return nil, nil, usagef("--cpuprofile and --trace are both %s; name two files", p.Trace)
	}
	if err := p.checkReplace(); err != nil {
		return nil, nil, err
	}
	var ends []func() error
	for _, r := range []struct {
		flag, path string
		begin      func(f *os.File) error
		end        func()
	}{
		{"cpuprofile", p.CPUProfile, func(f *os.File) error { return pprof.StartCPUProfile(f) }, pprof.StopCPUProfile},
		{"trace", p.Trace, func(f *os.File) error { return trace.Start(f) }, trace.Stop},
	} {
		if r.path == "" {
			continue
		}
		_, missing := os.Lstat(r.path)
		f, err := os.Create(r.path)
		if err == nil {
			err = r.begin(f)
		}
		if err != nil {
			if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
				err = cause.Err
			}
			return nil, nil, errors.Join(fmt.Errorf("cannot write --%s %s: %w", r.flag, r.path, err), endAll(ends))
		}
		if missing != nil {
			made = append(made, r.path)
		}
		ends = append(ends, func() error { r.end(); return f.Close() })
	}
	return made, sync.OnceValue(func() error { return endAll(ends) }), nil
}

// checkReplace refuses to write over what is neither profile nor trace.
func (p profileFlags) checkReplace() error {
	if err := checkReplace("cpuprofile", p.CPUProfile, "profile", "\x1f\x8b"); err != nil { // compressed by gzip
		return err
	}
	return checkReplace("trace", p.Trace, "trace", "go 1.")
}

func endAll(ends []func() error) error {
	var errs []error
	for _, end := range ends {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// atSignal calls stop and ends the program when it is interrupted. The function returned undoes it.
func atSignal(stop func() error) (undo func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if s, ok := <-signals; ok {
			_ = stop() // there is nobody left to tell
			os.Exit(128 + signalNumber(s))
		}
	}()
	return func() { signal.Stop(signals); close(signals) }
}
