package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// RecordManifest is what the artifact store keeps of a completed job: enough to make its record again.
type RecordManifest struct {
	ID          string    `json:"id"`
	Tenant      string    `json:"tenant"`
	Attempt     int       `json:"attempt"`
	CreatedAt   time.Time `json:"created_at"`
	StartedAt   time.Time `json:"started_at"`
	CompletedAt time.Time `json:"completed_at"`
	Spec        Spec      `json:"spec"`
	Result      Result    `json:"result"`
}

// Rebuild makes the record of a completed job out of its manifest and says whether it did: a record that is there already stays as it is, and one whose retention is over
// is not made.
func (s *Store) Rebuild(ctx context.Context, m RecordManifest) (made bool, err error) {
	if !ValidID(m.ID) || !tenantPattern.MatchString(m.Tenant) || !validPipeline(m.Spec.Pipeline) || m.Attempt < 1 || m.CreatedAt.IsZero() || m.CompletedAt.IsZero() {
		return false, fmt.Errorf("jobs: rebuild %q: manifest: %w", m.ID, ErrInvalid)
	}
	spec, err := json.Marshal(m.Spec)
	if err != nil {
		return false, fmt.Errorf("jobs: rebuild %s: %w: %w", m.ID, ErrInvalid, err)
	}
	result, kept, err := encodeResult(m.Result)
	if err != nil {
		return false, fmt.Errorf("jobs: rebuild %s: %w", m.ID, err)
	}
	started := ""
	if !m.StartedAt.IsZero() {
		started = fmt.Sprint(m.StartedAt.UnixMilli())
	}
	outcome, err := s.evalWord(ctx, "rebuild", m.ID, m.Tenant, m.Spec.Pipeline, spec, SchemaVersion, m.Attempt, m.CreatedAt.UnixMilli(), started,
		m.CompletedAt.UnixMilli(), m.CompletedAt.Add(s.cfg.RetentionTTL).UnixMilli(), result, kept, m.Spec.ImageKey, max(m.Result.SizeBytes, 0))
	return outcome == "made", err
}
