package jobs

import (
	"context"
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
	limit   redis_rate.Limit
	prefix  string
}

func newRateLimiter(cfg Config, rdb Client) *rateLimiter {
	return &rateLimiter{
		limiter: redis_rate.NewLimiter(rdb), prefix: cfg.Prefix + ":create:",
		limit: redis_rate.Limit{Rate: cfg.CreatesPerMinute, Burst: cfg.CreatesBurst, Period: time.Minute},
	}
}

// AllowCreate counts one create of an API key against its limit. It costs a round trip, or none without a limit.
func (s *Store) AllowCreate(ctx context.Context, keyID string) (Rate, error) {
	l := s.limiter
	if l.limit.Rate == 0 {
		return Rate{Allowed: true}, nil
	}
	result, err := l.limiter.Allow(ctx, l.prefix+keyID, l.limit)
	if err != nil {
		return Rate{}, unavailable("rate limit", err)
	}
	r := Rate{Allowed: result.Allowed > 0, Limit: l.limit.Rate, Remaining: result.Remaining, ResetAfter: result.ResetAfter}
	if !r.Allowed {
		r.RetryAfter = max(result.RetryAfter, time.Millisecond)
		s.metrics.refused.WithLabelValues("rate").Inc()
	}
	return r, nil
}
