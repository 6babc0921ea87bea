package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The sentinels of the room. Every error that leaves it can be told apart with errors.Is; the text of Redis or asynq is for logs alone.
var (
	// ErrNotFound says that there is no such thing for this tenant: never made, deleted, expired or another tenant's.
	ErrNotFound = errors.New("not found")
	// ErrTerminal says that the job has ended already and cannot be cancelled.
	ErrTerminal = errors.New("the job has ended")
	// ErrStale says that the attempt no longer owns the job, so nothing was written. Its owner deletes what it made.
	ErrStale = errors.New("the attempt no longer owns the job")
	// ErrIdempotencyMismatch says that the idempotency key was used before for other fields.
	ErrIdempotencyMismatch = errors.New("the idempotency key was used for another request")
	// ErrQueueFull says that the pipeline has its maximum of queued jobs.
	ErrQueueFull = errors.New("the queue is full")
	// ErrMemoryFull says that Redis is nearly full, or full: what runs can end, and nothing new is taken.
	ErrMemoryFull = errors.New("redis is nearly full")
	// ErrQuota says that the caller has all that its key allows; a QuotaError says of what.
	ErrQuota = errors.New("the key allows no more")
	// ErrTooMany says that the tenant has as many things of this kind as it may.
	ErrTooMany = errors.New("there are too many already")
	// ErrUnstaged says that a staged key was given up before its record came; the object may be gone. Upload again.
	ErrUnstaged = errors.New("a staged key was given up")
	// ErrUnavailable says that Redis did not answer in time or refused; whether a write happened is unknown.
	ErrUnavailable = errors.New("redis is not available")
	// ErrDataLost says that the records this process worked with are gone: a flush, or another database behind the same address.
	ErrDataLost = errors.New("redis lost its records")
	// ErrEvicts says that Redis may drop records to make room: it has a maxmemory and a policy other than noeviction.
	ErrEvicts = errors.New("redis evicts keys: set maxmemory-policy to noeviction")
	// ErrInvalid says that an argument breaks a documented rule.
	ErrInvalid = errors.New("invalid argument")
	// ErrUnauthorized says that no live API key has this secret.
	ErrUnauthorized = errors.New("unknown API key")
	// ErrSealed says that a webhook's secret is sealed with a key that this process does not have.
	ErrSealed = errors.New("sealed with an unknown key")
	// ErrStuck says that a run did not end within the stop time after it was told to; it may still hold its device.
	ErrStuck = errors.New("a run did not stop")
)

// The causes with which the context of a run ends; context.Cause names one of them.
var (
	// ErrCancelled says that the job was cancelled or deleted. The run stops and deletes what it made.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrLeaseLost says that another attempt owns the job, or may soon. The run stops and deletes what it made.
	ErrLeaseLost = errors.New("the lease was lost")
	// ErrDeadline says that the run took longer than its worker allows. Workers set it, by Claim.Stop.
	ErrDeadline = errors.New("the run took too long")
	// ErrDraining says that the worker is going away and its time to finish is over.
	ErrDraining = errors.New("the worker is draining")
)

// QuotaError is an ErrQuota with what it is about.
type QuotaError struct {
	// Limit is one of QuotaNames, "queue-age" for the configuration's QueueAgeMax, or "batches" for 100 open ones.
	Limit string
	// RetryAfter is when the same request would be taken; zero when that depends on what else goes on, negative for never.
	RetryAfter time.Duration
}

// Error names the limit.
func (e *QuotaError) Error() string { return ErrQuota.Error() + ": " + e.Limit }

// Is makes it an ErrQuota.
func (e *QuotaError) Is(target error) bool { return target == ErrQuota }

// unavailable translates an error of Redis, asynq or the network at the wall of this room.
func unavailable(op string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("jobs: %s: %w", op, context.Canceled)
	}
	if strings.Contains(err.Error(), "OOM command not allowed") {
		return fmt.Errorf("jobs: %s: %w: %w", op, ErrMemoryFull, ErrUnavailable)
	}
	return fmt.Errorf("jobs: %s: %w: %v", op, ErrUnavailable, err) // foreign errors end here on purpose
}
