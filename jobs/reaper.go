package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// The bounds of the reaper's work.
const (
	// reapBatch is the number of rows that one script call moves.
	reapBatch = 100
	// reapRounds is the number of calls of one kind in a round; what is left waits for the next one.
	reapRounds = 20
	// outboxGrace is how long a Create may take between its record and its ticket.
	outboxGrace = 2 * time.Second
	// headEvery is the pause between two looks for lost tickets, headSoon that after one that found something odd; headRows is how many jobs are looked at, headAge how long
	// they must have waited.
	headEvery = 5 * time.Second
	headSoon  = 2 * time.Second
	headRows  = 100
	headAge   = 3 * time.Second
)

// reaper is one process's view. Any number may run; a lock lets one of them work.
type reaper struct {
	store *Store
	owner string
	now   func() time.Time

	// seen and clock are when Redis last answered, by our clock and by its own.
	seen  time.Time
	clock int64
	// quietUntil is until when leases are left alone, because their owners may have been cut off as we were.
	quietUntil time.Time
	// headNext is when to look for lost tickets.
	headNext time.Time
	// short is, by pipeline, by how many tickets the last look found fewer than jobs that wait.
	short map[string]int64
	down  bool
}

func (s *Store) newReaper() *reaper {
	return &reaper{store: s, owner: processName(), now: time.Now, short: map[string]int64{}}
}

// processName names a process in logs, unlike any other.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), newID("", time.Now()))
}

// RunReaper mends, until ctx ends, what crashes leave: leases that ran out, tickets that were never sent or got lost, jobs that waited too long, expired records.
// Every process of the program may run it.
func (s *Store) RunReaper(ctx context.Context) error {
	r := s.newReaper()
	ticker := time.NewTicker(s.cfg.ReapEvery)
	defer ticker.Stop()
	for {
		if err := r.round(ctx); err != nil && ctx.Err() == nil {
			if !r.down {
				s.log.WarnContext(ctx, "reaper cannot work", "error", err)
			}
			r.down = true
			s.metrics.reapErrors.Inc()
		} else if r.down && err == nil {
			r.down = false
			s.log.InfoContext(ctx, "reaper works again")
		}
		select {
		case <-ctx.Done():
			return r.resign(ctx)
		case <-ticker.C:
		}
	}
}

// resign lets another process take over at once.
func (r *reaper) resign(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = r.store.eval(ctx, "resign", r.owner) // the lock ends by itself
	return nil
}

// round does everything once, if we hold the lock.
func (r *reaper) round(ctx context.Context) error {
	lead, err := r.look(ctx)
	if err != nil || !lead {
		return err
	}
	errs := []error{r.outbox(ctx), r.vanished(ctx)}
	pipelines, err := r.store.Pipelines(ctx)
	errs = append(errs, err)
	heads := !r.now().Before(r.headNext)
	if heads {
		r.headNext = r.now().Add(headEvery)
	}
	for _, p := range pipelines {
		if r.now().After(r.quietUntil) {
			errs = append(errs, r.reap(ctx, p))
		}
		errs = append(errs, r.timeOut(ctx, p))
		if heads {
			errs = append(errs, r.heads(ctx, p), r.store.dropUnreadable(ctx, p))
		}
	}
	errs = append(errs, r.repeat(func() (int, error) { return r.store.SweepExpired(ctx, reapBatch) }))
	return errors.Join(errs...)
}

// look takes the lock and watches for gaps. When Redis was out of our sight, or its clock jumped, it was out of the workers' sight too: they get a whole lease to renew.
func (r *reaper) look(ctx context.Context) (lead bool, err error) {
	cfg := r.store.cfg
	answer, err := r.store.evalList(ctx, "lead", r.owner, ms(cfg.LeaseTTL/2+cfg.ReapEvery), ms(cfg.LeaseTTL+cfg.ReapEvery))
	if err != nil {
		r.headNext = time.Time{} // answers got lost, and with them perhaps tickets
		return false, err
	}
	clock, err := strconv.ParseInt(word(answer, 1), 10, 64)
	if err != nil {
		return false, unavailable("lead", err)
	}
	now := r.now()
	gap := cfg.LeaseTTL / 2
	if r.seen.IsZero() || now.Sub(r.seen) > gap || clock-r.clock > ms(gap) {
		r.quietUntil = now.Add(cfg.LeaseTTL)
	}
	r.seen, r.clock = now, clock
	return number(answer, 0) == 1, nil
}

// vanished counts the processes that went without a word. After a gap they get a lease to show up again, as runs do.
func (r *reaper) vanished(ctx context.Context) error {
	if !r.now().After(r.quietUntil) {
		return nil
	}
	gone, err := r.store.evalList(ctx, "vanished")
	if err != nil {
		return err
	}
	for i := range gone {
		r.store.log.WarnContext(ctx, "a process has vanished", "process", word(gone, i))
	}
	r.store.metrics.vanished.Add(float64(len(gone)))
	return nil
}

// repeat calls a batch until it moves less than a full one.
func (r *reaper) repeat(batch func() (int, error)) error {
	for range reapRounds {
		if n, err := batch(); err != nil || n < reapBatch {
			return err
		}
	}
	return nil
}

// reap takes jobs back whose lease ran out, as long as the look round before it is fresh by the clock of Redis.
func (r *reaper) reap(ctx context.Context, pipeline string) error {
	s := r.store
	return r.repeat(func() (int, error) {
		answer, err := s.evalList(ctx, "reap", pipeline, reapBatch, s.cfg.DeathsMax, ms(s.cfg.RetentionTTL), ms(s.cfg.ZombieTTL), CodeWorkerCrashed, crashedMessage, r.clock+ms(s.cfg.LeaseTTL/2))
		if err != nil {
			return 0, err
		}
		for i := 0; i+2 < len(answer); i += 3 {
			id, outcome := word(answer, i), State(word(answer, i+2))
			attempt, err := strconv.Atoi(word(answer, i+1))
			if err != nil {
				return 0, unavailable("reap", err)
			}
			s.log.WarnContext(ctx, "lease ran out", "job_id", id, "attempt", attempt, "outcome", outcome)
			s.metrics.reaped.WithLabelValues(pipeline, string(outcome)).Inc()
			if outcome == StateFailed {
				s.metrics.ended.WithLabelValues(pipeline, CodeWorkerCrashed).Inc()
				continue
			}
			s.sendTicket(ctx, pipeline, id, attempt, 0)
		}
		return len(answer) / 3, nil
	})
}

// timeOut fails jobs that waited too long.
func (r *reaper) timeOut(ctx context.Context, pipeline string) error {
	s := r.store
	return r.repeat(func() (int, error) {
		answer, err := s.eval(ctx, "time_out", pipeline, reapBatch, ms(s.cfg.QueueTimeout), ms(s.cfg.RetentionTTL), ms(s.cfg.ZombieTTL),
			CodeQueueTimeout, "No worker was free in time.")
		n, _ := answer.(int64)
		s.metrics.ended.WithLabelValues(pipeline, CodeQueueTimeout).Add(float64(n))
		return int(n), err
	})
}

// outbox sends the tickets that their Create could not, and forgets those that it could.
func (r *reaper) outbox(ctx context.Context) error {
	s := r.store
	return r.repeat(func() (int, error) {
		answer, err := s.evalList(ctx, "outbox", ms(outboxGrace), reapBatch)
		if err != nil {
			return 0, err
		}
		sent := make([]any, 0, len(answer)/3)
		for i := 0; i+2 < len(answer); i += 3 {
			id := word(answer, i)
			attempt, err := strconv.Atoi(word(answer, i+1))
			if err != nil {
				return 0, unavailable("outbox", err)
			}
			if err := s.tickets.send(ctx, word(answer, i+2), id, attempt, 0, ""); err != nil {
				return 0, err
			}
			sent = append(sent, outboxEntry(id, attempt))
		}
		if len(sent) == 0 {
			return 0, nil
		}
		s.metrics.outboxSent.Add(float64(len(sent)))
		if err := s.rdb.ZRem(ctx, s.key("outbox"), sent...).Err(); err != nil {
			return 0, unavailable("outbox", err)
		}
		return len(sent), nil
	})
}

// heads looks for lost tickets: when two looks find fewer of them than jobs that have waited a while, the difference is sent anew. Any ticket wakes a worker up for any job, so it is their
// number that counts; one too many is harmless. Looking for themselves, workers find such jobs too, but only while they have nothing to do.
func (r *reaper) heads(ctx context.Context, pipeline string) error {
	s := r.store
	answer, err := s.evalList(ctx, "head", pipeline, headRows, ms(headAge))
	if err != nil {
		return err
	}
	waiting, err := s.tickets.waiting(ctx, pipeline)
	if err != nil {
		return err
	}
	before, short := r.short[pipeline], max(0, number(answer, 0)-waiting)
	r.short[pipeline] = short
	if short > 0 {
		r.headNext = r.now().Add(headSoon)
	}
	spares := min(before, short)
	if spares > 0 {
		s.log.WarnContext(ctx, "tickets lost; sent anew", "pipeline", pipeline, "tickets", spares)
	}
	for i := 1; i+1 < len(answer) && spares > 0; i, spares = i+2, spares-1 {
		attempt, err := strconv.Atoi(word(answer, i+1))
		if err != nil {
			return unavailable("head", err)
		}
		s.metrics.reticketed.Inc()
		if err := s.tickets.send(ctx, pipeline, word(answer, i), attempt, 0, ":"+strconv.FormatInt(r.clock, 36)); err != nil {
			return err
		}
	}
	return nil
}
