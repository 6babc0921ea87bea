package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// ReaderPlan is many clients that download the same thing slowly.
type ReaderPlan struct {
	// Path is what they read, behind the target's origin.
	Path string
	// Readers is how many there are, BytesPerSecond what each takes.
	Readers        int
	BytesPerSecond int
	// Duration is how long they read; then they hang up, wherever they are.
	Duration time.Duration
}

// ReaderResult is what they met.
type ReaderResult struct {
	Readers int            `json:"readers"`
	Errors  map[string]int `json:"errors"`
	// Bytes is what all of them read together, BytesMin what the one behind all others did.
	Bytes    int64 `json:"bytes"`
	BytesMin int64 `json:"bytes_min"`
}

const (
	// readEvery is the pause between two sips.
	readEvery = 100 * time.Millisecond
	// readerBufferBytes is the receive buffer of a slow reader: a kernel that took the whole artifact would hide how slow it is.
	readerBufferBytes = 64 << 10
)

// SlowReaders reads until the plan's duration is over. A reader that reaches the end early is content.
func SlowReaders(ctx context.Context, t Target, plan ReaderPlan) (ReaderResult, error) {
	if plan.Readers < 1 || plan.Readers > connectionsMax || plan.BytesPerSecond < 10 || plan.Duration <= 0 {
		return ReaderResult{}, fmt.Errorf("%w: %d readers of %d bytes/s for %s", ErrPlan, plan.Readers, plan.BytesPerSecond, plan.Duration)
	}
	client := newBulkClient(plan.Readers, readerBufferBytes)
	defer client.CloseIdleConnections()
	timed, cancel := context.WithTimeout(ctx, plan.Duration)
	defer cancel()
	var (
		mu     sync.Mutex
		group  sync.WaitGroup
		result = ReaderResult{Readers: plan.Readers, Errors: map[string]int{}}
		first  = true
	)
	for range plan.Readers {
		group.Go(func() {
			n, status, err := sip(timed, client, t, plan)
			mu.Lock()
			defer mu.Unlock()
			if status != http.StatusOK || (err != nil && !errors.Is(err, context.DeadlineExceeded)) {
				result.Errors[classify(status, err)]++
			}
			result.Bytes += n
			if first || n < result.BytesMin {
				result.BytesMin, first = n, false
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return ReaderResult{}, fmt.Errorf("bench: readers: %w", err)
	}
	return result, nil
}

// sip reads a little at each tick, until the end or the context's.
func sip(ctx context.Context, client *http.Client, t Target, plan ReaderPlan) (n int64, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL+plan.Path, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	t.authorize(req)
	res, err := client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	each := int64(plan.BytesPerSecond) * int64(readEvery) / int64(time.Second)
	for {
		got, err := io.CopyN(io.Discard, res.Body, each)
		n += got
		if errors.Is(err, io.EOF) {
			return n, res.StatusCode, nil
		}
		if err != nil {
			return n, res.StatusCode, err
		}
		select {
		case <-ctx.Done():
			return n, res.StatusCode, context.DeadlineExceeded
		case <-ticker.C:
		}
	}
}
