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
	go func() {
		for s := range signals {
			number := int(syscall.SIGINT)
			if n, ok := s.(syscall.Signal); ok {
				number = int(n)
			}
			if ctx.Err() != nil {
				os.Exit(128 + number)
			}
			fmt.Fprintln(w, "\nstopping after this step ...")
			cancel(interruptedError{number})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// interruption returns the interruptedError that cancelled a context, or nil.
func interruption(ctx context.Context) error {
	var i interruptedError
	if errors.As(context.Cause(ctx), &i) {
		return i
	}
	return nil
}
