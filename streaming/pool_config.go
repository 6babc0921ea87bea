package streaming

import (
	"fmt"
	"time"

	"telefuser/internal/tracing"
)

// PoolConfig describes the workers of one process. A zero value takes the default in its comment.
type PoolConfig struct {
	// Owner names the process and its start: host, pid and something random, of A-Z a-z 0-9 "_.-". Worker i is "<Owner>-worker-<i>".
	Owner    string
	Pipeline string
	// SessionsPerWorkerMax is the number of sessions that one engine keeps at a time: 1.
	SessionsPerWorkerMax int
	// Devices names each engine's devices for the registry; may be nil.
	Devices [][]string
	// Grace is how long live sessions go on after a drain began: 30 s. After it they are handed over where their state is kept, else ended as drained. Below 0
	// there is none.
	Grace time.Duration
	// TimeSlice is how long an active session may use the model while others wait: 2 s.
	TimeSlice time.Duration
	// JoinTimeout bounds one try to enter a room: 10 s. OpenTimeout bounds an engine's Open: 60 s.
	JoinTimeout time.Duration
	OpenTimeout time.Duration
	// RejoinTimeout is how long a session that lost its room tries to get back before it ends as media_lost: 7 s. It was without the media server for some
	// seconds before the room counted as lost; the end is to come within 15 s in all.
	RejoinTimeout time.Duration
	// AckTimeout is how long a lossless session waits for its client's delivery_ack after done: 15 s.
	AckTimeout time.Duration
	// PollEvery is the longest a free slot goes without asking for a session: 1 s. It is asked at once when a nudge comes.
	PollEvery time.Duration
	// ControlsPerSecondMax is the number of control messages obeyed in a second; more are dropped, counted and answered once a second: 120.
	ControlsPerSecondMax int
	// BitrateBitsPerSecond is the target of the encoder: three bits for ten pixels, from 500,000 to 8,000,000, where it is 0.
	BitrateBitsPerSecond int
	// Tracer makes spans of sessions; nil makes none.
	Tracer *tracing.Tracer
}

// withDefaults fills what was left zero.
func (c PoolConfig) withDefaults() PoolConfig {
	for d, to := range map[*time.Duration]time.Duration{
		&c.Grace: 30 * time.Second, &c.TimeSlice: 2 * time.Second, &c.JoinTimeout: 10 * time.Second, &c.OpenTimeout: time.Minute,
		&c.RejoinTimeout: 7 * time.Second, &c.AckTimeout: 15 * time.Second, &c.PollEvery: time.Second,
	} {
		if *d == 0 {
			*d = to
		}
	}
	for n, to := range map[*int]int{&c.SessionsPerWorkerMax: 1, &c.ControlsPerSecondMax: 120} {
		if *n == 0 {
			*n = to
		}
	}
	return c
}

// Validate names the first field at fault.
func (c PoolConfig) Validate() error {
	c = c.withDefaults()
	for _, rule := range []struct {
		wrong bool
		text  string
	}{
		{!namePattern.MatchString(c.Owner), "Owner must be 1 to 64 of A-Z a-z 0-9 _ . -"},
		{!namePattern.MatchString(c.Pipeline), "Pipeline must be 1 to 64 of A-Z a-z 0-9 _ . -"},
		{c.SessionsPerWorkerMax < 1, "SessionsPerWorkerMax must be 1 or more"},
		{min(c.TimeSlice, c.JoinTimeout, c.OpenTimeout, c.RejoinTimeout, c.AckTimeout, c.PollEvery) <= 0, "time-outs must be above 0"},
		{c.ControlsPerSecondMax < 1, "ControlsPerSecondMax must be 1 or more"},
		{c.BitrateBitsPerSecond != 0 && c.BitrateBitsPerSecond < 10_000, "BitrateBitsPerSecond must be 10,000 or more"},
	} {
		if rule.wrong {
			return fmt.Errorf("streaming: %s: %w", rule.text, ErrInvalid)
		}
	}
	return nil
}

// The bit rate of a session's picture: a good one has bitsPerPixels bits for pixelsPerBits pixels, and the largest may not take a network for itself.
const (
	bitsPerPixels, pixelsPerBits = 3, 10
	bitrateMin, bitrateMax       = 500_000, 8_000_000
)

// bitrate is what a session's picture may use, in bits a second.
func (c PoolConfig) bitrate(s Spec) int {
	if c.BitrateBitsPerSecond > 0 {
		return c.BitrateBitsPerSecond
	}
	return min(max(s.Width*s.Height*s.FPS*bitsPerPixels/pixelsPerBits, bitrateMin), bitrateMax)
}
