package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used, as /proc tells it.
type Usage struct {
	// CPUSeconds is user and system time since it started, RSSBytes its resident memory now.
	CPUSeconds float64
	RSSBytes   int64
}

// clockTicks is the unit of CPU time in /proc, in ticks a second: 100 on every Linux.
const clockTicks = 100

// The places in /proc/PID/stat behind the name in parentheses, counted from 0.
const (
	statUserTicks   = 11
	statSystemTicks = 12
	statRSSPages    = 21
)

// ReadUsage answers ErrNoProcess where there is no such process or no /proc.
func ReadUsage(pid int) (Usage, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("%w: %d: %w", ErrNoProcess, pid, err)
	}
	// The name may hold spaces and parentheses of its own.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) <= statRSSPages {
		return Usage{}, fmt.Errorf("%w: %d: stat of %d fields", ErrNoProcess, pid, len(fields))
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64) // the kernel writes numbers
		return n
	}
	return Usage{
		CPUSeconds: float64(number(statUserTicks)+number(statSystemTicks)) / clockTicks,
		RSSBytes:   number(statRSSPages) * int64(os.Getpagesize()),
	}, nil
}

// Process is one process that a benchmark watches.
type Process struct {
	Name string
	PID  int
}

// ProcessResult is what a process used while it was watched.
type ProcessResult struct {
	Name string `json:"name"`
	// CPUSeconds is the time that it used; RSSBytes are its memory at the start and at its highest.
	CPUSeconds    float64 `json:"cpu_s"`
	RSSBytesStart int64   `json:"rss_bytes_start"`
	RSSBytesMax   int64   `json:"rss_bytes_max"`
}

// watchEvery is the pause between two looks at memory.
const watchEvery = 100 * time.Millisecond

// Watch looks at processes while work runs, and answers work's error first.
func Watch(ctx context.Context, processes []Process, work func(context.Context) error) ([]ProcessResult, error) {
	first := make([]Usage, len(processes))
	results := make([]ProcessResult, len(processes))
	for i, p := range processes {
		u, err := ReadUsage(p.PID)
		if err != nil {
			return nil, err
		}
		first[i], results[i] = u, ProcessResult{Name: p.Name, RSSBytesStart: u.RSSBytes, RSSBytesMax: u.RSSBytes}
	}
	look := func() error {
		for i, p := range processes {
			u, err := ReadUsage(p.PID)
			if err != nil {
				return err
			}
			results[i].CPUSeconds = u.CPUSeconds - first[i].CPUSeconds
			results[i].RSSBytesMax = max(results[i].RSSBytesMax, u.RSSBytes)
		}
		return nil
	}
	done := make(chan error, 1) // one: work's result, which nobody waits for while a look is under way
	go func() { done <- work(ctx) }()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var lookErr error
	for {
		select {
		case err := <-done:
			if err != nil {
				return nil, err
			}
			return results, firstError(lookErr, look())
		case <-ticker.C:
			lookErr = firstError(lookErr, look())
		}
	}
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
