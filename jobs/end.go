package jobs

import (
	"context"
	"fmt"
)

// cancelledMessage is what a client reads about a job that it cancelled.
const cancelledMessage = "The job was cancelled."

// Delete removes a job in any state and returns it as it was. A running attempt is told to stop; what the job owned in the artifact store becomes garbage.
func (s *Store) Delete(ctx context.Context, tenant, id string) (Job, error) {
	if !ValidID(id) || !tenantPattern.MatchString(tenant) {
		return Job{}, fmt.Errorf("jobs: delete: %w", ErrNotFound)
	}
	answer, err := s.evalList(ctx, "delete", id, tenant, ms(s.cfg.ZombieTTL))
	if err != nil {
		return Job{}, err
	}
	if len(answer) == 0 {
		return Job{}, fmt.Errorf("jobs: delete %s: %w", id, ErrNotFound)
	}
	s.metrics.deleted.Inc()
	return decodeJob(id, pairs(answer))
}

// Cancel ends a job that has not ended as failed with the code "cancelled" and returns it. A running attempt is told to stop. A job that has ended is
// returned as it is, with ErrTerminal.
func (s *Store) Cancel(ctx context.Context, tenant, id string) (Job, error) {
	if !ValidID(id) || !tenantPattern.MatchString(tenant) {
		return Job{}, fmt.Errorf("jobs: cancel: %w", ErrNotFound)
	}
	answer, err := s.evalList(ctx, "cancel", id, tenant, ms(s.cfg.RetentionTTL), ms(s.cfg.ZombieTTL), CodeCancelled, cancelledMessage)
	if err != nil {
		return Job{}, err
	}
	if word(answer, 0) == "missing" {
		return Job{}, fmt.Errorf("jobs: cancel %s: %w", id, ErrNotFound)
	}
	job, err := decodeJob(id, fields(answer, 1))
	if err != nil {
		return Job{}, err
	}
	if word(answer, 0) == "ended" {
		return job, fmt.Errorf("jobs: cancel %s: %w", id, ErrTerminal)
	}
	s.metrics.ended.WithLabelValues(job.Spec.Pipeline, CodeCancelled).Inc()
	return job, nil
}
