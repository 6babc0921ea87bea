package streaming

import "context"

// Get reads one session. ErrNotFound when the tenant has none such.
func (s *Store) Get(ctx context.Context, tenant, id string) (Session, error) { panic("soon") }

// Position is the session's 1-based place in the queue, 0 when it does not wait.
func (s *Store) Position(ctx context.Context, tenant, id string) (int, error) { panic("soon") }

// ListRequest asks for a page of sessions, the newest first.
type ListRequest struct {
	// Tenant is whose sessions; empty means everybody's, for operators.
	Tenant string
	// After is the id of the last session of the page before, or empty.
	After string
	// Limit is the page's size, 1 to 100; 0 takes 20.
	Limit int
}

// List reads a page of sessions. An After that is gone answers ErrNotFound.
func (s *Store) List(ctx context.Context, r ListRequest) (sessions []Session, more bool, err error) {
	panic("soon")
}

// Health is what the registry says of the workers.
type Health struct {
	WorkersTotal, WorkersIdle, WorkersBusy, WorkersFailed, QueuedSessions int
	// SlotsTotal and SlotsBusy count sessions.
	SlotsTotal, SlotsBusy int
	// MediaConnected says that a session is in starting_pipeline, running or draining. An idle service is not connected, as it should be.
	MediaConnected bool
	Workers        []Worker
}

// Ready says that there is a worker that has not failed and is not still starting.
func (h Health) Ready() bool { panic("soon") }

// Status is "healthy", "degraded" when a worker has failed, "unhealthy" when none serves.
func (h Health) Status() string { panic("soon") }

// Worker is one worker's entry in the registry.
type Worker struct {
	ID       string
	Pipeline string
	// Status is one of the WorkerStatus constants.
	Status  WorkerStatus
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
func (s *Store) Health(ctx context.Context, pipeline string) (Health, error) { panic("soon") }
