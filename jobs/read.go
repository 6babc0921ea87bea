package jobs

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// The bounds of a page.
const (
	ListLimitDefault = 20
	ListLimitMax     = 100
	// listScanMax bounds the rows that one script call looks at, so that a heap of expired ones cannot hold Redis up.
	listScanMax = 500
)

// ListQuery asks for one page of a tenant's records, in the order of their ids.
type ListQuery struct {
	// After is the id behind which the page starts; the row itself may be gone. Empty: from the start.
	After string
	// Limit is the number of rows, 1..100; 0 means 20, more means 100.
	Limit int
	// Descending lists the newest first.
	Descending bool
}

// limit is the number of rows in effect.
func (q ListQuery) limit() int {
	if q.Limit <= 0 {
		return ListLimitDefault
	}
	return min(q.Limit, ListLimitMax)
}

// flag writes a truth as a script reads it.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Get reads a job, in one round trip. A job that was deleted, has expired or is another tenant's is ErrNotFound, at equal cost.
func (s *Store) Get(ctx context.Context, tenant, id string) (Job, error) {
	if !ValidID(id) || !tenantPattern.MatchString(tenant) {
		return Job{}, fmt.Errorf("jobs: get: %w", ErrNotFound)
	}
	pipe := s.rdb.Pipeline()
	record, clock := pipe.HGetAll(ctx, s.recordKey(id)), pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return Job{}, unavailable("get "+id, err)
	}
	f := record.Val()
	if len(f) == 0 || f["t"] != tenant || expired(f, clock.Val()) {
		return Job{}, fmt.Errorf("jobs: get %s: %w", id, ErrNotFound)
	}
	return decodeJob(id, f)
}

func expired(f map[string]string, now time.Time) bool {
	ms, err := strconv.ParseInt(f["exp"], 10, 64)
	return err == nil && ms <= now.UnixMilli()
}

// List reads a page of a tenant's jobs by id, which is by time of creation. The cursor is a place, not a row, so pages survive deletions; a page is empty only when
// nothing follows.
func (s *Store) List(ctx context.Context, tenant string, q ListQuery) (jobs []Job, hasMore bool, err error) {
	if !tenantPattern.MatchString(tenant) || (q.After != "" && !ValidID(q.After)) {
		return nil, false, fmt.Errorf("jobs: list: %w", ErrInvalid)
	}
	limit, after := q.limit(), q.After
	for {
		answer, err := s.evalList(ctx, "list", tenant, after, limit-len(jobs), flag(q.Descending), listScanMax, ms(s.cfg.ZombieTTL))
		if err != nil {
			return nil, false, err
		}
		rows, _ := answer[2].([]any)
		for _, row := range rows {
			pair, _ := row.([]any)
			job, err := decodeJob(word(pair, 0), fields(pair, 1))
			if err != nil {
				return nil, false, err
			}
			jobs = append(jobs, job)
		}
		if more := number(answer, 0); more != 2 {
			return jobs, more == 1, nil
		}
		after = word(answer, 1)
	}
}

// QueuePosition is a queued job's place in its pipeline's queue, from 1, as tenants take turns: how many would begin until it does, counting itself, if nothing else happened; false when it
// does not wait. With more than a hundred tenants waiting it is an estimate. Limits of running jobs are not looked at.
func (s *Store) QueuePosition(ctx context.Context, job Job) (position int, queued bool, err error) {
	places, err := s.QueuePositions(ctx, job)
	if err != nil {
		return 0, false, err
	}
	return places[0], places[0] > 0, nil
}

// QueuePositions are those of many jobs, in one round trip; 0 for one that does not wait.
func (s *Store) QueuePositions(ctx context.Context, page ...Job) ([]int, error) {
	places := make([]int, len(page))
	var args []any
	var at []int
	for i, job := range page {
		if job.State == StateQueued {
			args, at = append(args, job.ID, job.Spec.Pipeline, job.Tenant), append(at, i)
		}
	}
	if len(at) == 0 {
		return places, nil
	}
	answer, err := s.evalList(ctx, "place", args...)
	if err != nil {
		return nil, err
	}
	for i, place := range at {
		places[place] = int(number(answer, i))
	}
	return places, nil
}

// Counts is what a pipeline has to do.
type Counts struct {
	Queued  int
	Running int
	// OldestQueuedAge is how long the job at the head has existed; zero when none waits.
	OldestQueuedAge time.Duration
}

// Counts reads a pipeline's counts, in one round trip.
func (s *Store) Counts(ctx context.Context, pipeline string) (Counts, error) {
	pipe := s.rdb.Pipeline()
	queued, running := pipe.ZCard(ctx, s.queuedKey(pipeline)), pipe.ZCard(ctx, s.runningKey(pipeline))
	head, clock := pipe.ZRangeWithScores(ctx, s.queuedKey(pipeline), 0, 0), pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return Counts{}, unavailable("counts", err)
	}
	c := Counts{Queued: int(queued.Val()), Running: int(running.Val())}
	if rows := head.Val(); len(rows) > 0 {
		c.OldestQueuedAge = max(0, clock.Val().Sub(time.UnixMicro(int64(rows[0].Score))))
	}
	return c, nil
}

// Totals counts events since the database was made, over all processes.
type Totals struct {
	Created   int64
	Completed int64
	Failed    int64
	Cancelled int64
}

// Totals reads the totals.
func (s *Store) Totals(ctx context.Context) (Totals, error) {
	f, err := s.rdb.HGetAll(ctx, s.key("totals")).Result()
	if err != nil {
		return Totals{}, unavailable("totals", err)
	}
	r := reader{fields: f}
	return Totals{Created: r.number("created"), Completed: r.number("completed"), Failed: r.number("failed"), Cancelled: r.number("cancelled")}, nil
}

// Pipelines names the pipelines that ever had a job.
func (s *Store) Pipelines(ctx context.Context) ([]string, error) {
	names, err := s.rdb.SMembers(ctx, s.key("pipelines")).Result()
	if err != nil {
		return nil, unavailable("pipelines", err)
	}
	return names, nil
}
