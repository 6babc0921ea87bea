package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/internal/devstack"
	"telefuser/jobs"
)

// benchRedis is a redis-server of the benchmark's own, with its append-only file synced every second.
func benchRedis(b *testing.B, cfg jobs.Config) *bundle {
	b.Helper()
	server, err := devstack.StartRedis(b.Context(), b.TempDir(), devstack.RedisOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { server.Stop() })
	return setup(b, server.Addr, cfg)
}

// fill creates n jobs of ten tenants.
func (b *bundle) fill(tb testing.TB, n int) []string {
	tb.Helper()
	ids := make([]string, n)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				job, _, err := b.store.Create(tb.Context(), benchRequest(i))
				if err != nil {
					tb.Error(err)
					return
				}
				ids[i] = job.ID
			}
		})
	}
	wg.Wait()
	return ids
}

func benchRequest(i int) jobs.CreateRequest {
	s := spec(fmt.Sprintf("%d: a slow flight over a green valley at dawn, mist between the hills, a river that catches the first light", i))
	s.RequestID = "req_0123456789abcdef"
	return jobs.CreateRequest{Tenant: "tenant-" + strconv.Itoa(i%10), Spec: s, Fingerprint: digest(strconv.Itoa(i))}
}

// spread reports percentiles of durations.
func spread(b *testing.B, all []time.Duration) {
	b.Helper()
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	at := func(p float64) float64 {
		return float64(all[min(len(all)-1, int(p*float64(len(all))))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.50), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
}

// timed runs the operation b.N times from eight goroutines and reports rate and percentiles.
func timed(b *testing.B, op func(i int) error) {
	b.Helper()
	all := make([]time.Duration, b.N)
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < b.N; i += 8 {
				start := time.Now()
				if err := op(i); err != nil {
					b.Error(err)
					return
				}
				all[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
	spread(b, all)
}

func BenchmarkCreate(b *testing.B) {
	for _, stored := range []int{0, 50_000} {
		b.Run(fmt.Sprintf("queued=%d", stored), func(b *testing.B) {
			s := benchRedis(b, jobs.Config{QueuedMax: 10_000_000})
			s.fill(b, stored)
			timed(b, func(i int) error {
				_, _, err := s.store.Create(b.Context(), benchRequest(i))
				return err
			})
		})
	}
}

func BenchmarkGetAndList(b *testing.B) {
	for _, stored := range []int{100, 100_000} {
		s := benchRedis(b, jobs.Config{QueuedMax: 10_000_000})
		ids := s.fill(b, stored)
		b.Run(fmt.Sprintf("Get/stored=%d", stored), func(b *testing.B) {
			timed(b, func(i int) error {
				n := i * 7919 % stored
				_, err := s.store.Get(b.Context(), "tenant-"+strconv.Itoa(n%10), ids[n])
				return err
			})
		})
		b.Run(fmt.Sprintf("List20/stored=%d", stored), func(b *testing.B) {
			timed(b, func(i int) error {
				n := i * 7919 % stored
				_, _, err := s.store.List(b.Context(), "tenant-"+strconv.Itoa(n%10), jobs.ListQuery{After: ids[n], Descending: true})
				return err
			})
		})
		b.Run(fmt.Sprintf("List100/stored=%d", stored), func(b *testing.B) {
			timed(b, func(i int) error {
				_, _, err := s.store.List(b.Context(), "tenant-"+strconv.Itoa(i%10), jobs.ListQuery{Limit: 100, Descending: true})
				return err
			})
		})
	}
}

// BenchmarkStart measures from the return of Create to the first line of the run, one job at a time on a worker that has been idle for a while.
func BenchmarkStart(b *testing.B) {
	s := benchRedis(b, jobs.Config{})
	started := make(chan time.Time, 1)
	s.consume(b, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
		started <- time.Now()
		if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
			b.Error(err)
		}
	})
	var all []time.Duration
	for i := 0; b.Loop(); i++ {
		idle := time.NewTimer(20*time.Millisecond + time.Duration(i*7919%10_000)*time.Microsecond)
		<-idle.C
		if _, _, err := s.store.Create(b.Context(), benchRequest(i)); err != nil {
			b.Fatal(err)
		}
		accepted := time.Now()
		all = append(all, max(0, within(b, started).Sub(accepted)))
	}
	spread(b, all)
}

// BenchmarkThroughput measures jobs that do nothing, from accepted to completed.
func BenchmarkThroughput(b *testing.B) {
	s := benchRedis(b, jobs.Config{QueuedMax: 10_000_000})
	var wg sync.WaitGroup
	wg.Add(b.N)
	s.fill(b, b.N)
	b.ResetTimer()
	s.consume(b, jobs.ConsumerConfig{Slots: 8}, func(ctx context.Context, c *jobs.Claim) {
		defer wg.Done()
		if err := c.Complete(context.WithoutCancel(ctx), result("r")); err != nil {
			b.Error(err)
		}
	})
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "job/s")
}

// BenchmarkQueuedBytes reports what one queued job takes of Redis, everything included: record, indexes, ticket, retry memory.
func BenchmarkQueuedBytes(b *testing.B) {
	const n = 50_000
	for b.Loop() {
		s := benchRedis(b, jobs.Config{})
		before := usedMemory(b, s)
		s.fill(b, n)
		b.ReportMetric(float64(usedMemory(b, s)-before)/n, "B/job")
	}
}

// usedMemory is what the data take: without the buffers of clients and of the append-only file, which a slow disk fills.
func usedMemory(b testing.TB, s *bundle) int64 {
	b.Helper()
	info, err := s.rdb.Info(b.Context(), "memory").Result()
	if err != nil {
		b.Fatal(err)
	}
	number := func(name string) int64 {
		_, rest, _ := strings.Cut(info, name+":")
		text, _, _ := strings.Cut(rest, "\r\n")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return number("used_memory") - number("mem_aof_buffer") - number("mem_clients_normal")
}
