package api

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"telefuser/openapi"
)

// Link is one thing that a process stands on.
type Link struct {
	Reason openapi.ReadyReason
	// Look answers nil while it is there.
	Look func(ctx context.Context) error
	// SlowMax is how long its answers may take where it has shown that it is slow; 0 makes one that takes longer than readyCheckTimeout a broken one. A refusal counts at once.
	SlowMax time.Duration
}

// SlowMax is the patience with a store or a media server: requests that need it take as long, but they are answered.
const SlowMax = 10 * time.Second

// slowMemory is how long it is remembered that a link was slow; slowFactor is how many times as long as its slowest answer of that time the next one may take.
const (
	slowMemory = 5 * time.Minute
	slowFactor = 2
)

// errSilent says that a link did not answer in the time that it has.
var errSilent = errors.New("no answer in time")

// looksMax bounds the looks at one link that are under way at the same time: a new one is begun when those before count as silent, for what was sent into the void is not answered when the
// void ends.
const looksMax = 8

// watchedLink is a link with the looks that are under way and what is known of its pace, which tells a slow link from one that is gone. One call at a time may use it.
type watchedLink struct {
	Link
	// under are the looks under way, the oldest first; ended has those that are over.
	under []*linkLook
	ended chan *linkLook
	// last is what the last look that counted said, once one has.
	last   error
	looked bool
	// slowest is the longest time that an answer took since slowMemory ago, and when that was.
	slowest   time.Duration
	slowestAt time.Time
}

func newWatchedLink(l Link) *watchedLink {
	return &watchedLink{Link: l, ended: make(chan *linkLook, 2*looksMax)} // those under way and those that are idle, so that none waits for its reader
}

// linkLook is one look; took and err are set when it has ended.
type linkLook struct {
	began  time.Time
	cancel context.CancelFunc
	took   time.Duration
	err    error
}

// begin starts a look, unless one is under way that may still answer. It ends by itself after the longest time that the link may have.
func (l *watchedLink) begin(ctx context.Context) {
	l.drain()
	if n := len(l.under); n == looksMax || n > 0 && (!l.silent() || time.Since(l.under[n-1].began) < readyCheckTimeout) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(readyCheckTimeout, l.SlowMax))
	look := &linkLook{began: time.Now(), cancel: cancel}
	l.under = append(l.under, look)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				look.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			look.took = time.Since(look.began)
			cancel()
			l.ended <- look
		}()
		look.err = l.Look(ctx)
	}()
}

// await waits for a look, until readyCheckTimeout after the newest began.
func (l *watchedLink) await() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for len(l.under) > 0 {
		timer.Reset(time.Until(l.under[len(l.under)-1].began.Add(readyCheckTimeout)))
		select {
		case look := <-l.ended:
			l.settle(look)
		case <-timer.C:
			l.drain()
			return
		}
	}
}

// drain takes the looks that have ended.
func (l *watchedLink) drain() {
	for {
		select {
		case look := <-l.ended:
			l.settle(look)
		default:
			return
		}
	}
}

// settle takes what a look said. An answer makes those beside it idle.
func (l *watchedLink) settle(look *linkLook) {
	i := slices.Index(l.under, look)
	if i < 0 {
		return // it was idle already
	}
	l.under = slices.Delete(l.under, i, i+1)
	if l.last, l.looked = look.err, true; look.err != nil {
		return
	}
	for _, other := range l.under {
		other.cancel()
	}
	l.under = nil
	if now := time.Now(); look.took >= l.slowest || now.Sub(l.slowestAt) > slowMemory {
		l.slowest, l.slowestAt = look.took, now
	}
}

// patience is how long the link may take now.
func (l *watchedLink) patience() time.Duration {
	if time.Since(l.slowestAt) > slowMemory {
		return readyCheckTimeout
	}
	return max(readyCheckTimeout, min(slowFactor*l.slowest, l.SlowMax))
}

// silent says that the oldest look has had its time.
func (l *watchedLink) silent() bool {
	return len(l.under) > 0 && (!l.looked || time.Since(l.under[0].began) >= l.patience())
}

// verdict is the last answer while the next one may still come.
func (l *watchedLink) verdict() error {
	if l.silent() {
		return errSilent
	}
	return l.last
}

// end stops the looks and waits for them a little: what does not heed its context is left behind.
func (l *watchedLink) end(patience time.Duration) {
	for _, look := range l.under {
		look.cancel()
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for range l.under {
		select {
		case <-l.ended:
		case <-timer.C:
			return
		}
	}
}
