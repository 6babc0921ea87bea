package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Garbage names objects in the artifact store that no record owns any more. A key may come twice, and may be gone already.
type Garbage struct {
	// JobID is the job that owned them; empty for objects that never found an owner, and for files.
	JobID string
	Keys  []string
	// token is the entry as Redis holds it.
	token string
}

// Stage notes object keys before they are written, so that a crash leaves nothing behind: whoever makes the record (Create, PutFile, PutCharacter) takes them over, and
// what nobody took becomes garbage after StagedTTL. Staging a key again starts its time anew.
func (s *Store) Stage(ctx context.Context, keys ...string) error {
	return s.StageFor(ctx, s.cfg.StagedTTL, keys...)
}

// StageFor is Stage for objects that are needed for a known time and never get a record: they become garbage after ttl.
func (s *Store) StageFor(ctx context.Context, ttl time.Duration, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	if !validKeys(keys) {
		return fmt.Errorf("jobs: stage: object key: %w", ErrInvalid)
	}
	now, err := s.rdb.Time(ctx).Result()
	if err != nil {
		return unavailable("stage", err)
	}
	entries := make([]redis.Z, len(keys))
	for i, k := range keys {
		entries[i] = redis.Z{Score: float64(now.Add(ttl).UnixMilli()), Member: k}
	}
	if err := s.rdb.ZAdd(ctx, s.key("staged"), entries...).Err(); err != nil {
		return unavailable("stage", err)
	}
	return nil
}

// Unstage forgets staged keys whose objects the caller has deleted itself.
func (s *Store) Unstage(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	if err := s.rdb.ZRem(ctx, s.key("staged"), anys(keys)...).Err(); err != nil {
		return unavailable("unstage", err)
	}
	return nil
}

// NextGarbage returns up to limit entries whose objects may be deleted now. An entry that GarbageDone does not report comes back after a minute.
func (s *Store) NextGarbage(ctx context.Context, limit int) ([]Garbage, error) {
	answer, err := s.evalList(ctx, "garbage", limit)
	if err != nil {
		return nil, err
	}
	out := make([]Garbage, 0, len(answer))
	for _, entry := range texts(answer) {
		parts := strings.Split(entry, "\n")
		if len(parts) < 3 {
			return nil, fmt.Errorf("jobs: garbage entry of %d parts: %w", len(parts), ErrInvalid)
		}
		out = append(out, Garbage{JobID: parts[1], Keys: parts[2:], token: entry})
	}
	return out, nil
}

// GarbageDone reports entries whose objects are gone.
func (s *Store) GarbageDone(ctx context.Context, done ...Garbage) error {
	if len(done) == 0 {
		return nil
	}
	tokens := make([]any, len(done))
	for i, g := range done {
		tokens[i] = g.token
	}
	if err := s.rdb.ZRem(ctx, s.key("garbage"), tokens...).Err(); err != nil {
		return unavailable("garbage done", err)
	}
	return nil
}

// SweepExpired turns up to limit expired records, and as many staged objects that nobody took, into garbage. It returns how many; the reaper calls it too.
func (s *Store) SweepExpired(ctx context.Context, limit int) (int, error) {
	n, err := s.eval(ctx, "sweep", limit, ms(s.cfg.ZombieTTL))
	if err != nil {
		return 0, err
	}
	count, _ := n.(int64)
	s.metrics.swept.Add(float64(count))
	return int(count), nil
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
