package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
)

// Rate is what the rate limit says to one request.
type Rate struct {
	Allowed bool
	// Limit is the number of creates a minute and Remaining how many may follow at once; both zero when there is no limit.
	Limit     int
	Remaining int
	// ResetAfter is when Remaining is back at its maximum; RetryAfter is when a refused request may come again, zero when it was allowed.
	ResetAfter time.Duration
	RetryAfter time.Duration
}

// rateLimiter counts creates by key in Redis, so that all processes share one limit.
type rateLimiter struct {
	limiter *redis_rate.Limiter
	prefix  string
}

func newRateLimiter(cfg Config, rdb Client) *rateLimiter {
	return &rateLimiter{limiter: redis_rate.NewLimiter(rdb), prefix: cfg.Prefix + ":create:"}
}

// AllowCreate counts one create of an API key against its limit. It costs a round trip, or none without a limit. ErrMemoryFull means that nothing is taken from anybody.
func (s *Store) AllowCreate(ctx context.Context, keyID string) (Rate, error) {
	if s.memory.look(ctx, s).full {
		s.metrics.refused.WithLabelValues("memory").Inc()
		return Rate{}, fmt.Errorf("jobs: create: %w", ErrMemoryFull)
	}
	quota, err := s.Quota(ctx, keyID)
	if err != nil {
		return Rate{}, err
	}
	if quota.CreatesPerMinute == 0 {
		return Rate{Allowed: true}, nil
	}
	limit := redis_rate.Limit{Rate: int(quota.CreatesPerMinute), Burst: int(quota.CreatesPerMinute), Period: time.Minute}
	if quota.CreatesPerMinute == s.cfg.Quota.CreatesPerMinute {
		limit.Burst = s.cfg.CreatesBurst
	}
	result, err := s.limiter.limiter.Allow(ctx, s.limiter.prefix+keyID, limit)
	if err != nil {
		return Rate{}, unavailable("rate limit", err)
	}
	r := Rate{Allowed: result.Allowed > 0, Limit: limit.Rate, Remaining: result.Remaining, ResetAfter: result.ResetAfter}
	if !r.Allowed {
		r.RetryAfter = max(result.RetryAfter, time.Millisecond)
		s.metrics.refused.WithLabelValues("rate").Inc()
	}
	return r, nil
}
