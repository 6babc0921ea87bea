package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// ServerFacts is what Redis says of itself, for operators. A text that it does not tell is empty.
type ServerFacts struct {
	// Version is as it writes it, such as 7.0.15; Role is master or slave.
	Version, Role string
	// Policy is maxmemory-policy. UsedBytes and MaxBytes are its memory and its limit; 0 sets none.
	Policy              string
	UsedBytes, MaxBytes int64
	// AppendOnly says whether it keeps a log of every write, AppendFailed that the last write to that log did not work. Both are false where it tells nothing, and then Told is too.
	AppendOnly, AppendFailed, Told bool
	// Skew is how far its clock is ahead of ours, exact to half of RoundTrip.
	Skew, RoundTrip time.Duration
}

// ReadServerFacts asks Redis about itself. Errors: ErrUnavailable, whose text names a refused password or a missing right. Facts that Redis does not show to this user stay empty.
func ReadServerFacts(ctx context.Context, rdb Client) (ServerFacts, error) {
	before := time.Now()
	clock, err := rdb.Time(ctx).Result()
	if err != nil {
		return ServerFacts{}, unavailable("ask Redis for the time", err)
	}
	f := ServerFacts{RoundTrip: time.Since(before)}
	f.Skew = clock.Sub(before.Add(f.RoundTrip / 2)).Round(time.Millisecond)
	info, err := rdb.Info(ctx).Result()
	var refused redis.Error
	if err != nil && !errors.As(err, &refused) {
		return f, unavailable("ask Redis about itself", err)
	}
	f.Told = infoText(info, "aof_enabled") != ""
	f.Version, f.Role, f.Policy = infoText(info, "redis_version"), infoText(info, "role"), infoText(info, "maxmemory_policy")
	f.UsedBytes, f.MaxBytes = infoNumber(info, "used_memory"), infoNumber(info, "maxmemory")
	f.AppendOnly, f.AppendFailed = infoNumber(info, "aof_enabled") == 1, infoText(info, "aof_last_write_status") == "err"
	return f, nil
}
