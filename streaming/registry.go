package streaming

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// held is one epoch of a session that a worker runs.
type held struct {
	id    string
	epoch int
}

// lost is a session that is not its worker's any more.
type lost struct {
	held
	// status and reason are the record's; empty when there is none.
	status Status
	reason string
}

// heartbeat says that a worker is up and renews the leases of what it runs. It answers what is not its own any more.
func (s *Store) heartbeat(ctx context.Context, w Worker, runs []held) ([]lost, error) {
	devices, err := json.Marshal(w.Devices)
	if err != nil {
		return nil, fmt.Errorf("streaming: heartbeat %s: %w", w.ID, err)
	}
	args := []any{w.ID, w.Pipeline, w.Slots, string(w.Status), devices, ms(s.cfg.WorkerTTL), ms(s.cfg.LeaseTTL), ms(s.cfg.QueueTimeout)}
	for _, r := range runs {
		args = append(args, r.id, r.epoch)
	}
	list, err := s.evalList(ctx, "heartbeat", args...)
	if err != nil {
		return nil, err
	}
	var out []lost
	for i := 0; i+3 < len(list); i += 4 {
		epoch, _ := strconv.Atoi(word(list, i+1))
		out = append(out, lost{held{word(list, i), epoch}, Status(word(list, i+2)), word(list, i+3)})
	}
	return out, nil
}

// leave takes a worker out of the registry.
func (s *Store) leave(ctx context.Context, worker string) error {
	_, err := s.eval(ctx, "leave", worker, ms(s.cfg.QueueTimeout))
	return err
}
