package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

func isNil(err error) bool { return errors.Is(err, redis.Nil) }

// epochWatch remembers which set of records this process works with.
type epochWatch struct {
	mu   sync.Mutex
	seen string
	// gone is set while its mark is missing.
	gone bool
}

// Ping says whether Redis answers and still has the records: ErrUnavailable when it does not, ErrDataLost when the mark that the first process left is gone, ErrEvicts when it is
// set up to drop records once its memory is full. A new mark, made by a rebuild or by a process that started since, ends the state of ErrDataLost.
func (s *Store) Ping(ctx context.Context) error {
	s.epoch.mu.Lock()
	defer s.epoch.mu.Unlock()
	mark, err := s.rdb.Get(ctx, s.key("epoch")).Result()
	switch {
	case isNil(err) && s.epoch.seen != "":
		if !s.epoch.gone {
			s.metrics.epochs.Inc()
		}
		s.epoch.gone = true
		return fmt.Errorf("jobs: ping: the mark is gone: %w", ErrDataLost)
	case isNil(err):
		if mark, err = s.markEpoch(ctx); err != nil {
			return err
		}
	case err != nil:
		return unavailable("ping", err)
	}
	if s.epoch.seen != "" && s.epoch.seen != mark {
		if !s.epoch.gone {
			s.metrics.epochs.Inc()
		}
		s.log.ErrorContext(ctx, "redis holds another set of records than before", "before", s.epoch.seen, "now", mark)
	}
	s.epoch.seen, s.epoch.gone = mark, false
	if s.memory.look(ctx, s).evicts {
		return fmt.Errorf("jobs: ping: %w", ErrEvicts)
	}
	return nil
}

// markEpoch leaves a mark unless another process was faster, and returns the one that is there.
func (s *Store) markEpoch(ctx context.Context) (string, error) {
	pipe := s.rdb.TxPipeline()
	pipe.SetNX(ctx, s.key("epoch"), newID("", time.Now()), 0)
	mark := pipe.Get(ctx, s.key("epoch"))
	if _, err := pipe.Exec(ctx); err != nil {
		return "", unavailable("ping", err)
	}
	return mark.Val(), nil
}

// MarkRebuilt ends the state of ErrDataLost in all processes: the operator knows that the records are gone and has rebuilt what can be.
func (s *Store) MarkRebuilt(ctx context.Context) error {
	_, err := s.markEpoch(ctx)
	return err
}

// CheckPolicy looks at the settings of Redis on which the promises stand and returns a sentence for each that does not hold. Redis that does not show its settings gives none.
func (s *Store) CheckPolicy(ctx context.Context) (warnings []string, err error) {
	want := []struct{ name, value, warning string }{
		{"maxmemory-policy", noEviction, "Redis may evict job records: set maxmemory-policy to noeviction."},
		{"appendonly", "yes", "Redis keeps no append-only file: accepted jobs are lost when it restarts."},
	}
	for _, w := range want {
		got, err := s.rdb.ConfigGet(ctx, w.name).Result()
		var refused redis.Error
		if errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return nil, unavailable("check policy", err)
		}
		if value, ok := got[w.name]; ok && value != w.value {
			warnings = append(warnings, w.warning)
		}
	}
	return warnings, nil
}

// memoryLookEvery is the pause between two looks at the memory of Redis.
const memoryLookEvery = time.Second

// memoryGauge remembers how Redis stands with its memory.
type memoryGauge struct {
	mu     sync.Mutex
	looked time.Time
	last   memoryState
}

// memoryState is what INFO says of the memory of Redis; one that shows nothing is neither.
type memoryState struct {
	// full is set when Redis is nearly at maxmemory. There its consumers stop too, so the last part is kept for them.
	full bool
	// evicts is set when Redis has a maxmemory and drops keys to stay below it.
	evicts bool
}

// look answers from memory; one caller a second looks for all.
func (m *memoryGauge) look(ctx context.Context, s *Store) memoryState {
	m.mu.Lock()
	if time.Since(m.looked) < memoryLookEvery {
		defer m.mu.Unlock()
		return m.last
	}
	m.looked = time.Now()
	m.mu.Unlock()
	info, err := s.rdb.Info(ctx, "memory").Result()
	used, limit, policy := infoNumber(info, "used_memory"), infoNumber(info, "maxmemory"), infoText(info, "maxmemory_policy")
	limited := err == nil && limit > 0
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = memoryState{
		full:   limited && float64(used) >= s.cfg.MemoryMaxRatio*float64(limit),
		evicts: limited && policy != "" && policy != noEviction,
	}
	return m.last
}

// noEviction is the policy under which Redis refuses writes at maxmemory and drops nothing.
const noEviction = "noeviction"

// infoNumber reads a number out of INFO's lines; 0 when it is not there.
func infoNumber(info, name string) int64 {
	n, err := strconv.ParseInt(infoText(info, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// infoText reads a value out of INFO's lines; empty when it is not there.
func infoText(info, name string) string {
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
