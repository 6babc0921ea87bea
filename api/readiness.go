package api

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"telefuser/openapi"
)

// readyAge and notReadyAge are how long one answer is good for, so that any number of probes costs few looks. A no is short-lived: whoever
// starts the server waits for the first yes. Together with readyCheckTimeout, readyAge stays below the 2 s within which a broken link shows.
const (
	readyAge    = 400 * time.Millisecond
	notReadyAge = 50 * time.Millisecond
)

// Readiness says what of its links a process lacks. It remembers the last look.
type Readiness struct {
	log *slog.Logger

	mu     sync.Mutex
	links  []*watchedLink
	asked  time.Time
	reason openapi.ReadyReason
	closed bool
}

// NewReadiness is about these links. Where several are broken it names the first. Close ends it.
func NewReadiness(log *slog.Logger, links ...Link) *Readiness {
	r := &Readiness{log: log}
	for _, l := range links {
		r.links = append(r.links, newWatchedLink(l))
	}
	return r
}

// Reason looks, or remembers a look that is good still; "" when nothing is broken.
func (r *Readiness) Reason(ctx context.Context) openapi.ReadyReason {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return openapi.ReadyReasonStopping
	}
	age := readyAge
	if r.reason != "" {
		age = notReadyAge
	}
	if !r.asked.IsZero() && time.Since(r.asked) < age {
		return r.reason
	}
	reason, err := r.look(ctx)
	if reason != r.reason || r.asked.IsZero() {
		r.say(ctx, reason, err)
	}
	r.reason, r.asked = reason, time.Now()
	return reason
}

// look asks all links side by side, so that what they wait does not add up. It waits no longer than for links that are not slow; those that are go on answering meanwhile.
func (r *Readiness) look(ctx context.Context) (openapi.ReadyReason, error) {
	for _, l := range r.links {
		l.begin(ctx)
	}
	for _, l := range r.links {
		l.await()
	}
	for _, l := range r.links {
		if err := l.verdict(); err != nil {
			return l.Reason, err
		}
	}
	return "", nil
}

// closePatience is how long Close waits for looks that are told to end.
const closePatience = time.Second

// Close ends the looks under way. From then on nothing is ready.
func (r *Readiness) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, l := range r.links {
		l.end(closePatience)
	}
}

// say tells the log once what went away and that it is back.
func (r *Readiness) say(ctx context.Context, reason openapi.ReadyReason, err error) {
	if reason == "" {
		r.log.InfoContext(ctx, "ready")
		return
	}
	level := slog.LevelWarn
	if reason == openapi.ReadyReasonProgram && r.asked.IsZero() {
		level = slog.LevelInfo // at the first look an engine that still loads is no news
	}
	r.log.Log(ctx, level, "not ready", slog.String("reason", string(reason)), slog.String("cause", err.Error()))
}

// readyLinks are the records, the store, what live sessions need where the server is there for them, and whatever the program adds.
func (s *Server) readyLinks() []Link {
	links := []Link{{Reason: openapi.ReadyReasonRecords, Look: s.deps.Jobs.Ping}, {Reason: openapi.ReadyReasonStorage, Look: s.deps.Store.Check, SlowMax: SlowMax}}
	if s.deps.Sessions != nil && s.cfg.Stream.Primary {
		links = append(links, Link{Reason: openapi.ReadyReasonMedia, Look: s.deps.Rooms.Check, SlowMax: SlowMax}, Link{Reason: openapi.ReadyReasonWorkers, Look: s.checkWorkers})
	}
	if s.deps.Ready != nil {
		links = append(links, Link{Reason: openapi.ReadyReasonProgram, Look: s.deps.Ready})
	}
	return links
}

var errNoWorker = errors.New("no worker of live sessions serves")

func (s *Server) checkWorkers(ctx context.Context) error {
	h, err := s.deps.Sessions.Health(ctx, "")
	if err == nil && !h.Ready() {
		err = errNoWorker
	}
	return err
}

// notReadyReason is "" when requests can be taken; it never is again from the moment that the server is told to stop.
func (s *Server) notReadyReason(ctx context.Context) openapi.ReadyReason {
	if s.draining.Load() {
		return openapi.ReadyReasonStopping
	}
	return s.ready.Reason(ctx)
}
