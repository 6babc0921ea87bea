package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// WorkerInfo is what a live worker says about itself.
type WorkerInfo struct {
	Owner    string `json:"owner"`
	Pipeline string `json:"pipeline"`
	Slots    int    `json:"slots"`
	Busy     int    `json:"busy"`
	Version  string `json:"version"`
	// Devices are the names of its device groups.
	Devices []string `json:"devices,omitempty"`
	// SeenAt is the time of its last heartbeat, by the clock of Redis.
	SeenAt time.Time `json:"-"`
}

// Heartbeat says that a worker is up, for WorkerTTL.
func (s *Store) Heartbeat(ctx context.Context, w WorkerInfo) error {
	if w.Owner == "" {
		return fmt.Errorf("jobs: heartbeat: owner: %w", ErrInvalid)
	}
	text, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("jobs: heartbeat: %w: %w", ErrInvalid, err)
	}
	_, err = s.eval(ctx, "heartbeat", w.Owner, text, ms(s.cfg.WorkerTTL))
	return err
}

// Goodbye says that a worker is gone.
func (s *Store) Goodbye(ctx context.Context, owner string) error {
	_, err := s.eval(ctx, "heartbeat", owner, "", 0)
	return err
}

// Workers lists the workers that are up, those seen longest ago first.
func (s *Store) Workers(ctx context.Context) ([]WorkerInfo, error) {
	answer, err := s.evalList(ctx, "workers")
	if err != nil {
		return nil, err
	}
	out := make([]WorkerInfo, 0, len(answer)/2)
	for i := 0; i+1 < len(answer); i += 2 {
		var w WorkerInfo
		if err := json.Unmarshal([]byte(word(answer, i+1)), &w); err != nil {
			return nil, fmt.Errorf("jobs: workers: %w", err)
		}
		if until, err := strconv.ParseFloat(word(answer, i), 64); err == nil {
			w.SeenAt = time.UnixMilli(int64(until)).Add(-s.cfg.WorkerTTL).UTC()
		}
		out = append(out, w)
	}
	return out, nil
}
