package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"telefuser/internal/bench"
)

// What a slow reader downloads, and how fast: goal L4 of docs/testing.md.
const (
	readersContentBytes   = 20_000_000
	readersBytesPerSecond = 50_000
)

// besideReaders measures while slow readers download a video, from the first byte of theirs to the end of the measurement. A reader that fails fails it.
func (b *benchAPI) besideReaders(ctx context.Context, video string, measure func(context.Context) error) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	plan := bench.ReaderPlan{
		Path: "/v1/videos/" + video + "/content", Readers: b.readers, BytesPerSecond: readersBytesPerSecond, Duration: readersContentBytes / readersBytesPerSecond * time.Second,
	}
	read := make(chan error, 1)
	go func() {
		result, err := bench.SlowReaders(reading, b.target, plan)
		if err == nil && len(result.Errors) > 0 {
			err = fmt.Errorf("readers: %v", result.Errors)
		}
		read <- err
	}()
	err := measure(ctx)
	stop()
	if readers := <-read; !errors.Is(readers, context.Canceled) {
		// They had more to read than the measurement is long, unless something broke.
		err = errors.Join(err, readers)
	}
	return err
}
