package bench

import (
	"context"
	"fmt"
	"time"
)

// BacklogPlan is a growing backlog that nobody works off.
type BacklogPlan struct {
	Target Target
	// Body is the video that is created, RedisAddr (host:port) where its record goes.
	Body      []byte
	RedisAddr string
	Processes []Process
	// Few, Queued and Stored are the numbers of records at which the server is measured, growing.
	Few, Queued, Stored int
	// PostRate and GetRate are in requests a second, ListRate in pages; each measurement takes Duration after a warm-up of Warmup.
	PostRate, GetRate, ListRate float64
	Duration, Warmup            time.Duration
	Connections                 int
}

// BacklogResult is what the backlog did to the server.
type BacklogResult struct {
	// RedisBytesPerJob is the growth of Redis's used memory over the jobs that were queued meanwhile, from Few to Queued.
	RedisBytesPerJob float64 `json:"redis_bytes_per_job"`
	Runs             []Run   `json:"runs"`
}

// backlog is one such measurement under way.
type backlog struct {
	BacklogPlan
	pool *Pool
	ids  []string
	// count is every record there is: those of ids and those that measurements made.
	count  int
	result BacklogResult
}

// Backlog creates Few records and measures POST and GET; then up to Queued, and measures POST and list pages of 20 and 100; then up to Stored, and
// measures GET.
func Backlog(ctx context.Context, plan BacklogPlan) (BacklogResult, error) {
	if plan.Few < 1 || plan.Queued <= plan.Few || plan.Stored < plan.Queued {
		return BacklogResult{}, fmt.Errorf("%w: a backlog of %d, %d and %d", ErrPlan, plan.Few, plan.Queued, plan.Stored)
	}
	pool, err := NewPool(plan.Target, plan.Connections, 0)
	if err != nil {
		return BacklogResult{}, err
	}
	defer pool.Close()
	b := &backlog{BacklogPlan: plan, pool: pool}
	for _, step := range []func(context.Context) error{b.few, b.queued, b.stored} {
		if err := step(ctx); err != nil {
			return BacklogResult{}, err
		}
	}
	return b.result, nil
}

func (b *backlog) few(ctx context.Context) error {
	if err := b.grow(ctx, b.Few); err != nil {
		return err
	}
	if err := b.gets(ctx); err != nil {
		return err
	}
	return b.posts(ctx)
}

func (b *backlog) queued(ctx context.Context) error {
	count := b.count
	before, err := RedisMemory(ctx, b.RedisAddr)
	if err != nil {
		return err
	}
	if err := b.grow(ctx, b.Queued); err != nil {
		return err
	}
	after, err := RedisMemory(ctx, b.RedisAddr)
	if err != nil {
		return err
	}
	if b.count > count {
		b.result.RedisBytesPerJob = float64(after-before) / float64(b.count-count)
	}
	if err := b.posts(ctx); err != nil {
		return err
	}
	for _, limit := range []int{20, 100} {
		lists, err := Lists(b.Target, limit, b.ids)
		if err != nil {
			return err
		}
		if err := b.measure(ctx, fmt.Sprintf("list of %d", limit), b.ListRate, lists); err != nil {
			return err
		}
	}
	return nil
}

func (b *backlog) stored(ctx context.Context) error {
	if err := b.grow(ctx, b.Stored); err != nil {
		return err
	}
	return b.gets(ctx)
}

// grow creates records until there are n.
func (b *backlog) grow(ctx context.Context, n int) error {
	if n <= b.count {
		return nil
	}
	ids, err := b.pool.Fill(ctx, b.Target, b.Body, n-b.count)
	if err != nil {
		return err
	}
	b.ids, b.count = append(b.ids, ids...), n
	return nil
}

func (b *backlog) gets(ctx context.Context) error {
	source, err := Gets(b.Target, b.ids)
	if err != nil {
		return err
	}
	return b.measure(ctx, "get", b.GetRate, source)
}

func (b *backlog) posts(ctx context.Context) error {
	source, err := Posts(b.Target, b.Body)
	if err != nil {
		return err
	}
	if err := b.measure(ctx, "post", b.PostRate, source); err != nil {
		return err
	}
	b.count += Plan{Rate: b.PostRate, Duration: b.Warmup}.Arrivals() + Plan{Rate: b.PostRate, Duration: b.Duration}.Arrivals()
	return nil
}

// measure runs the source for the warm-up and then for the record.
func (b *backlog) measure(ctx context.Context, name string, rate float64, source Source) error {
	run, err := b.pool.Measure(ctx, fmt.Sprintf("%s, %d stored", name, b.count), Plan{Rate: rate, Duration: b.Duration}, b.Warmup, source, b.Processes)
	if err != nil {
		return err
	}
	b.result.Runs = append(b.result.Runs, run)
	return nil
}
