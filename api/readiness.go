package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
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

// Link is one thing that a process stands on.
type Link struct {
	Reason openapi.ReadyReason
	// Look answers nil while it is there.
	Look func(ctx context.Context) error
}

// Readiness says what of its links a process lacks. It remembers the last look.
type Readiness struct {
	log *slog.Logger

	mu     sync.Mutex
	links  []Link
	asked  time.Time
	reason openapi.ReadyReason
}

// NewReadiness is about these links. Where several are broken it names the first.
func NewReadiness(log *slog.Logger, links ...Link) *Readiness {
	return &Readiness{log: log, links: links}
}

// Reason looks, or remembers a look that is good still; "" when nothing is broken.
func (r *Readiness) Reason(ctx context.Context) openapi.ReadyReason {
	r.mu.Lock()
	defer r.mu.Unlock()
	age := readyAge
	if r.reason != "" {
		age = notReadyAge
	}
	if !r.asked.IsZero() && time.Since(r.asked) < age {
		return r.reason
	}
	reason, err := r.look(context.WithoutCancel(ctx))
	if reason != r.reason || r.asked.IsZero() {
		r.say(ctx, reason, err)
	}
	r.reason, r.asked = reason, time.Now()
	return reason
}

// look asks all links side by side, so that what they wait does not add up.
func (r *Readiness) look(ctx context.Context) (openapi.ReadyReason, error) {
	ctx, cancel := context.WithTimeout(ctx, readyCheckTimeout)
	defer cancel()
	errs := make([]error, len(r.links))
	var all sync.WaitGroup
	for i, l := range r.links {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				}
			}()
			errs[i] = l.Look(ctx)
		})
	}
	all.Wait()
	for i, l := range r.links {
		if errs[i] != nil {
			return l.Reason, errs[i]
		}
	}
	return "", nil
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
	links := []Link{{openapi.ReadyReasonRecords, s.deps.Jobs.Ping}, {openapi.ReadyReasonStorage, s.deps.Store.Check}}
	if s.deps.Sessions != nil && s.cfg.Stream.Primary {
		links = append(links, Link{openapi.ReadyReasonMedia, s.deps.Rooms.Check}, Link{openapi.ReadyReasonWorkers, s.checkWorkers})
	}
	if s.deps.Ready != nil {
		links = append(links, Link{openapi.ReadyReasonProgram, s.deps.Ready})
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
