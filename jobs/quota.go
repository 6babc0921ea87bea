package jobs

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Quota is what the holder of an API key may do. Zero sets no limit. What is counted is counted for the key's tenant as a whole, so that a second key is no way around it; creates and
// work alone are counted by key.
type Quota struct {
	// CreatesPerMinute is how many creates may come in a minute, at once or spread.
	CreatesPerMinute int64
	// Queued is how many jobs may wait, and Running how many may run, at a time. Jobs above Running wait on; those above Queued are refused.
	Queued  int64
	Running int64
	// MegapixelSecondsPerHour is the work that may be asked for in an hour, at once or spread: width x height x seconds / 10^6, at least 1 for each job.
	MegapixelSecondsPerHour int64
	// StoredBytes is how much of files and videos may be kept; who has that much is refused more.
	StoredBytes int64
	// Sessions is how many live sessions may be open at a time. Zero leaves it to the limit of all tenants.
	Sessions int64
}

// QuotaDefault takes a key's own limit away again, in whose place it stands: what the configuration says holds.
const QuotaDefault = -1

// QuotaNames are the limits that a key can have of its own, in the order in which they are shown.
func QuotaNames() []string {
	return []string{"creates-per-minute", "queued", "running", "megapixel-seconds-per-hour", "stored-bytes", "sessions"}
}

// Field is the limit of a name out of QuotaNames; nil for any other.
func (q *Quota) Field(name string) *int64 {
	switch name {
	case "creates-per-minute":
		return &q.CreatesPerMinute
	case "queued":
		return &q.Queued
	case "running":
		return &q.Running
	case "megapixel-seconds-per-hour":
		return &q.MegapixelSecondsPerHour
	case "stored-bytes":
		return &q.StoredBytes
	case "sessions":
		return &q.Sessions
	}
	return nil
}

// quotaMax bounds a limit: what Lua holds exactly.
const quotaMax = 1 << 53

// quotaField names a limit in the record of a key.
func quotaField(name string) string { return "q:" + name }

// with is the quota with a key's own limits in place.
func (q Quota) with(own map[string]int64) Quota {
	for name, limit := range own {
		if field := q.Field(name); field != nil {
			*field = limit
		}
	}
	return q
}

// ownLimits reads a key's own limits out of its record; nil when it has none.
func ownLimits(f map[string]string) map[string]int64 {
	var own map[string]int64
	for _, name := range QuotaNames() {
		limit, err := strconv.ParseInt(f[quotaField(name)], 10, 64)
		if err != nil {
			continue
		}
		if own == nil {
			own = map[string]int64{}
		}
		own[name] = limit
	}
	return own
}

// SetQuota changes limits of a key, by their names; QuotaDefault takes one away. Every process knows within KeyCacheTTL; a limit of running jobs
// holds for those that wait already, but one that is taken away only from the tenant's next create.
func (s *Store) SetQuota(ctx context.Context, keyID string, limits map[string]int64) error {
	for name, limit := range limits {
		if new(Quota).Field(name) == nil || limit < QuotaDefault || limit > quotaMax {
			return fmt.Errorf("jobs: set quota: %s: %w", name, ErrInvalid)
		}
	}
	hash, err := s.rdb.HGet(ctx, s.key("keys"), keyID).Result()
	if isNil(err) {
		return fmt.Errorf("jobs: set quota: %w", ErrNotFound)
	}
	if err != nil {
		return unavailable("set quota", err)
	}
	args := []any{hash}
	for name, limit := range limits {
		args = append(args, quotaField(name), limit)
	}
	answer, err := s.evalWord(ctx, "limit", args...)
	if err != nil {
		return err
	}
	s.keys.drop(hash, keyID)
	if answer == "missing" { // revoked meanwhile
		return fmt.Errorf("jobs: set quota: %w", ErrNotFound)
	}
	return nil
}

// Quota is what holds for a key: its own limits, and those of the configuration for the rest. A key that there is not, as without authentication, has none of its own.
func (s *Store) Quota(ctx context.Context, keyID string) (Quota, error) {
	own, known := s.keys.limits(keyID)
	if !known {
		hash, err := s.rdb.HGet(ctx, s.key("keys"), keyID).Result()
		if err != nil && !isNil(err) {
			return Quota{}, unavailable("quota", err)
		}
		if err == nil {
			f, err := s.rdb.HGetAll(ctx, s.key("k:")+hash).Result()
			if err != nil {
				return Quota{}, unavailable("quota", err)
			}
			own = ownLimits(f)
		}
		s.keys.putLimits(keyID, own)
	}
	return s.cfg.Quota.with(own), nil
}

// CheckStored answers ErrQuota when a tenant keeps as many bytes as the key allows.
func (s *Store) CheckStored(ctx context.Context, tenant, keyID string) error {
	quota, err := s.Quota(ctx, keyID)
	if err != nil || quota.StoredBytes == 0 {
		return err
	}
	stored, err := s.Stored(ctx, tenant)
	if err != nil || stored < quota.StoredBytes {
		return err
	}
	return s.quotaError("stored", 0)
}

// quotaLimits are the names of what the scripts refuse for.
var quotaLimits = map[string]string{
	"queued": "queued", "work": "megapixel-seconds-per-hour", "stored": "stored-bytes", "age": "queue-age", "batches": "batches",
}

// quotaError counts a refusal and says what it is about.
func (s *Store) quotaError(word string, retryMS int64) error {
	s.metrics.refused.WithLabelValues(word).Inc()
	return fmt.Errorf("jobs: %w", &QuotaError{Limit: quotaLimits[word], RetryAfter: time.Duration(retryMS) * time.Millisecond})
}

// Stored is how many bytes of files and videos a tenant keeps. What was made by versions that did not count is not in it.
func (s *Store) Stored(ctx context.Context, tenant string) (int64, error) {
	stored, err := s.rdb.HGet(ctx, s.key("stored"), tenant).Int64()
	if err != nil && !isNil(err) {
		return 0, unavailable("stored", err)
	}
	return stored, nil
}

// megapixelSeconds is the work of a job.
func megapixelSeconds(spec Spec) int64 {
	seconds := float64(spec.Frames) / float64(max(1, spec.FPS))
	return max(1, int64(math.Ceil(float64(spec.Width)*float64(spec.Height)*seconds/1e6)))
}
