package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"telefuser/internal/bench"
	"telefuser/internal/config"
)

// benchStartResult is one start of the embedded stack and one of the API alone.
type benchStartResult struct {
	// ReadyMS is the time from the start of the process to its ready line, in milliseconds; RSSBytes its memory a while later.
	ReadyMS  float64 `json:"ready_ms"`
	RSSBytes int64   `json:"rss_bytes"`
}

// benchStartReport is all of them.
type benchStartReport struct {
	Machine bench.Machine      `json:"machine"`
	Dev     []benchStartResult `json:"dev"`
	// APIRSSBytes is the memory of an API without a worker, idle for as long.
	APIRSSBytes int64 `json:"api_rss_bytes"`
}

func newBenchStartCommand() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Measure how fast dev is ready and what an idle server holds",
		Args:  cobra.NoArgs,
	}
	flags.add(cmd)
	runs := cmd.Flags().Int("runs", 5, "how often dev is started, each time in an empty directory")
	idle := cmd.Flags().Duration("idle", 5*time.Second, "how long to wait before memory is read")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return benchStart(cmd.Context(), flags, *runs, *idle, cmd.OutOrStdout())
	}
	return cmd
}

func benchStart(ctx context.Context, flags benchFlags, runs int, idle time.Duration, w io.Writer) error {
	report := benchStartReport{Machine: bench.ReadMachine()}
	for range runs {
		result, err := startDevOnce(ctx, flags.dir, idle)
		if err != nil {
			return err
		}
		report.Dev = append(report.Dev, result)
	}
	stack, err := startBenchStack(ctx, benchStackOptions{benchFlags: flags})
	if err != nil {
		return err
	}
	defer stack.stop()
	if err := pause(ctx, idle); err != nil {
		return err
	}
	usage, err := bench.ReadUsage(stack.api.cmd.Process.Pid)
	if err != nil {
		return err
	}
	report.APIRSSBytes = usage.RSSBytes
	text := ""
	for _, r := range report.Dev {
		text += fmt.Sprintf("dev: ready after %.0f ms, %.1f MiB after %s\n", r.ReadyMS, mebibytes(r.RSSBytes), idle)
	}
	return flags.report(w, report, text+fmt.Sprintf("api: %.1f MiB after %s\n", mebibytes(report.APIRSSBytes), idle))
}

// startDevOnce starts dev in a directory of its own, and stops it again.
func startDevOnce(ctx context.Context, parent string, idle time.Duration) (benchStartResult, error) {
	dir, err := os.MkdirTemp(parent, "telefuser-bench-")
	if err != nil {
		return benchStartResult{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // temporary, and told of nowhere
	self, err := os.Executable()
	if err != nil {
		return benchStartResult{}, fmt.Errorf("own program: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "dev", "--port", "0", "--data-dir", dir)
	cmd.Env, cmd.Stderr, cmd.WaitDelay = engineEnv(config.Environ()), os.Stderr, benchStopTimeout
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return benchStartResult{}, err
	}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return benchStartResult{}, err
	}
	// How it ends is of no interest: it is stopped.
	defer func() { cancel(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	ready := time.Since(started)
	if err != nil || !strings.HasPrefix(line, "ready ") {
		return benchStartResult{}, fmt.Errorf("dev printed %q in place of its ready line: %w", line, errors.Join(err, context.Cause(ctx)))
	}
	if err := pause(ctx, idle); err != nil {
		return benchStartResult{}, err
	}
	usage, err := bench.ReadUsage(cmd.Process.Pid)
	return benchStartResult{ReadyMS: float64(ready) / float64(time.Millisecond), RSSBytes: usage.RSSBytes}, err
}

// pause waits, or answers why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
