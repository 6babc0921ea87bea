package livekit

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Skew answers how far the media server's clock is ahead of ours, exact to a second: its tokens hold times. It needs no key. Errors: ErrUnavailable.
func (s *Server) Skew(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	before := time.Now()
	res, err := s.ask(ctx, "/")
	if err != nil {
		return 0, translate("ask for the time", err)
	}
	if err := res.Body.Close(); err != nil {
		return 0, translate("ask for the time", err)
	}
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return 0, fmt.Errorf("livekit: ask for the time: %w: no date in the answer", ErrUnavailable)
	}
	// The date is cut to whole seconds.
	return date.Add(time.Second / 2).Sub(before.Add(time.Since(before) / 2)).Round(time.Second), nil
}
