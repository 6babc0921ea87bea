package streaming

import (
	"context"
	"encoding/json"
	"strconv"
)

// Health is what the registry says of the workers.
type Health struct {
	// An idle worker is ready and has no session; a busy one has at least one. The rest of the total is starting or draining.
	WorkersTotal, WorkersIdle, WorkersBusy, WorkersFailed, QueuedSessions int
	// SlotsTotal and SlotsBusy count sessions.
	SlotsTotal, SlotsBusy int
	// MediaConnected says that a session is in starting_pipeline, running or draining. An idle service is not connected, as it should be.
	MediaConnected bool
	Workers        []Worker
}

// Ready says that there is a worker that serves: it has not failed, is not still starting and is not going away.
func (h Health) Ready() bool {
	for _, w := range h.Workers {
		if w.Status == WorkerReady {
			return true
		}
	}
	return false
}

// Status is "healthy", "degraded" when a worker has failed, "unhealthy" when none serves.
func (h Health) Status() string {
	switch {
	case !h.Ready():
		return "unhealthy"
	case h.WorkersFailed > 0:
		return "degraded"
	}
	return "healthy"
}

// Worker is one worker's entry in the registry.
type Worker struct {
	ID       string
	Pipeline string
	Status   WorkerStatus
	// Slots is the number of sessions it keeps at a time, Busy how many it has.
	Slots   int
	Busy    int
	Devices []string
}

// WorkerStatus is what a worker says of itself.
type WorkerStatus string

// The statuses of workers. A failed one had an engine and is waiting for a new one.
const (
	WorkerStarting WorkerStatus = "starting"
	WorkerReady    WorkerStatus = "ready"
	WorkerDraining WorkerStatus = "draining"
	WorkerFailed   WorkerStatus = "failed"
)

// Health reads the registry, for one pipeline or, when it is empty, for all.
func (s *Store) Health(ctx context.Context, pipeline string) (Health, error) {
	list, err := s.evalList(ctx, "health", pipeline)
	if err != nil {
		return Health{}, err
	}
	h := Health{QueuedSessions: number(list, 0), MediaConnected: number(list, 1) > 0}
	for i := 2; i+5 < len(list); i += 6 {
		w := Worker{ID: word(list, i), Pipeline: word(list, i+1), Status: WorkerStatus(word(list, i+2))}
		w.Slots, _ = strconv.Atoi(word(list, i+3))
		w.Busy, _ = strconv.Atoi(word(list, i+5))
		_ = json.Unmarshal([]byte(word(list, i+4)), &w.Devices) // names for people; without them the rest still stands
		h.add(w)
	}
	return h, nil
}

func (h *Health) add(w Worker) {
	h.Workers = append(h.Workers, w)
	h.WorkersTotal++
	h.SlotsTotal += w.Slots
	h.SlotsBusy += w.Busy
	switch {
	case w.Status == WorkerFailed:
		h.WorkersFailed++
	case w.Busy > 0:
		h.WorkersBusy++
	case w.Status == WorkerReady:
		h.WorkersIdle++
	}
}
