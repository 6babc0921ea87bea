package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"telefuser/internal/bench"
)

// How long processes are frozen. That of Redis and of the API is part of what requests wait.
const (
	soakWorkerFrozen = 3 * time.Second
	soakServerFrozen = 100 * time.Millisecond
)

// soakFaults breaks one part after the other, over all windows in turn.
type soakFaults struct {
	stack *benchStack
	next  int
}

// strike breaks something every now and then until ctx ends, and answers what.
func (f *soakFaults) strike(ctx context.Context, every time.Duration) ([]string, error) {
	kinds := []struct {
		name string
		do   func(context.Context) error
	}{
		{"worker killed", f.killWorker},
		{"worker frozen", func(ctx context.Context) error { return freeze(ctx, f.stack.worker.cmd.Process.Pid, soakWorkerFrozen) }},
		{"redis frozen", func(ctx context.Context) error { return freeze(ctx, f.stack.redis.PID(), soakServerFrozen) }},
		{"engine killed", f.killEngine},
		{"api frozen", func(ctx context.Context) error { return freeze(ctx, f.stack.api.cmd.Process.Pid, soakServerFrozen) }},
	}
	var struck []string
	for {
		if err := pause(ctx, every); err != nil {
			return struck, nil //nolint:nilerr // the window is over
		}
		kind := kinds[f.next%len(kinds)]
		f.next++
		// What was begun is ended, or the next window would find it broken.
		if err := kind.do(context.WithoutCancel(ctx)); err != nil {
			return struck, fmt.Errorf("%s: %w", kind.name, err)
		}
		struck = append(struck, kind.name)
	}
}

// killWorker ends the worker as a crash would, and starts another.
func (f *soakFaults) killWorker(ctx context.Context) (err error) {
	if err := f.stack.worker.cmd.Process.Kill(); err != nil {
		return err
	}
	<-f.stack.worker.done
	f.stack.worker, err = f.stack.role(ctx, "worker", "terrain")
	return err
}

// killEngine ends the engine, where one runs just now.
func (f *soakFaults) killEngine(context.Context) error {
	for _, pid := range bench.Children(f.stack.worker.cmd.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// freeze stops a process for a while.
func freeze(ctx context.Context, pid int, during time.Duration) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	return pause(ctx, during)
}
