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
// starts the server waits for the first yes.
const (
	readyAge    = time.Second
	notReadyAge = 50 * time.Millisecond
)

// readiness remembers the last look at what the server stands on.
type readiness struct {
	// check answers what is not there, and why for the log; "" when requests can be taken.
	check func(ctx context.Context) (openapi.ReadyReason, error)
	// changed hears of every new answer.
	changed func(openapi.ReadyReason, error)

	mu     sync.Mutex
	asked  time.Time
	reason openapi.ReadyReason
}

// get looks, or remembers a look that is good still.
func (r *readiness) get(ctx context.Context) openapi.ReadyReason {
	r.mu.Lock()
	defer r.mu.Unlock()
	age := readyAge
	if r.reason != "" {
		age = notReadyAge
	}
	if !r.asked.IsZero() && time.Since(r.asked) < age {
		return r.reason
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyCheckTimeout)
	defer cancel()
	reason, err := r.check(ctx)
	if reason != r.reason || r.asked.IsZero() {
		r.changed(reason, err)
	}
	r.reason, r.asked = reason, time.Now()
	return reason
}

// checkReady looks at the records, the store and whatever the program adds.
func (s *Server) checkReady(ctx context.Context) (openapi.ReadyReason, error) {
	if err := s.deps.Jobs.Ping(ctx); err != nil {
		return openapi.ReadyReasonRecords, err
	}
	if err := s.deps.Store.Check(ctx); err != nil {
		return openapi.ReadyReasonStorage, err
	}
	if s.deps.Sessions != nil && s.cfg.Stream.Primary {
		h, err := s.deps.Sessions.Health(ctx, "")
		if err == nil && !h.Ready() {
			err = errNoWorker
		}
		if err != nil {
			return openapi.ReadyReasonWorkers, err
		}
	}
	if s.deps.Ready != nil {
		if err := s.deps.Ready(ctx); err != nil {
			return openapi.ReadyReasonProgram, err
		}
	}
	return "", nil
}

var errNoWorker = errors.New("no worker of live sessions serves")

// logReadiness says once what went away and that it is back.
func (s *Server) logReadiness(reason openapi.ReadyReason, err error) {
	if reason == "" {
		s.log.Info("ready")
		return
	}
	level := slog.LevelWarn
	if reason == openapi.ReadyReasonProgram && s.ready.asked.IsZero() {
		level = slog.LevelInfo // at the first look an engine that still loads is no news
	}
	s.log.Log(context.Background(), level, "not ready", slog.String("reason", string(reason)), slog.String("cause", err.Error()))
}

// notReadyReason is "" when requests can be taken; it never is again from the moment that the server is told to stop.
func (s *Server) notReadyReason(ctx context.Context) openapi.ReadyReason {
	if s.draining.Load() {
		return openapi.ReadyReasonStopping
	}
	return s.ready.get(ctx)
}
