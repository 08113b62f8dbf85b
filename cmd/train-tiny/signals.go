package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// watchSignals returns a context that the first SIGINT or SIGTERM cancels, with an interruptedError as
// cause. The second one ends the program at once. stop undoes it.
func watchSignals(w io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go obey(signals, w, cancel, os.Exit)
	return ctx, func() {
		signal.Stop(signals) // no more are sent
		close(signals)
		cancel(nil)
	}
}

// obey cancels at the first signal and exits at every other, until signals is closed.
func obey(signals <-chan os.Signal, w io.Writer, cancel context.CancelCauseFunc, exit func(status int)) {
	first := true
	for s := range signals {
		number := signalNumber(s)
		if !first {
			exit(128 + number)
			continue
		}
		first = false
		fmt.Fprintln(w, "\nstopping after this step ...")
		cancel(interruptedError{number})
	}
}

func signalNumber(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return int(syscall.SIGINT)
}

// interruption returns the interruptedError that cancelled a context, or nil.
func interruption(ctx context.Context) error {
	var i interruptedError
	if errors.As(context.Cause(ctx), &i) {
		return i
	}
	return nil
}
