package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// durations collects what something took, again and again.
type durations struct {
	mu  sync.Mutex
	all []time.Duration
}

func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, took)
}

// report logs the spread beside the goals of a percentile and of the longest, and holds them to wide bars as within does.
func (d *durations) report(t *testing.T, what string, percent int, goal, longest time.Duration) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 0 {
		t.Fatalf("%s: nothing was measured", what)
	}
	slices.Sort(d.all)
	at := func(percent int) time.Duration {
		return d.all[min(len(d.all)-1, len(d.all)*percent/100)].Round(time.Millisecond)
	}
	t.Logf("measured: %s, %d times: p50 %s", what, len(d.all), at(50))
	within(t, fmt.Sprintf("%s, p%d", what, percent), at(percent), goal)
	within(t, what+", the longest", d.all[len(d.all)-1], longest)
}

// TestWorkerDeaths (R3) kills workers in the middle of a job, 50 times, on benches side by side.
func TestWorkerDeaths(t *testing.T) {
	need(t, extentLong)
	t.Parallel()
	const benches, each = 5, 10
	var took durations
	t.Run("deaths", func(t *testing.T) {
		for i := range benches {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				b := startBench(t, options{})
				for range each {
					b.killAtWork(&took)
				}
				b.check()
			})
		}
	})
	took.report(t, "attempt 2 begins after a worker's death", 95, restartMax, 30*time.Second)
}

// killAtWork kills the worker of a job somewhere on its way, and measures until attempt 2 begins.
func (b *bench) killAtWork(took *durations) {
	b.t.Helper()
	s := b.create(chunked("step_ms=500", 8))
	victim, _ := b.begun(s, 1)
	pause(b.t, rand.N(2*time.Second))
	b.ledger.disrupt()
	victim.kill()
	died := time.Now()
	_, when := b.begun(s, 2)
	took.add(when.Sub(died))
	b.start(victim)
	b.await(s)
}

// TestRedisDeaths (R4) kills Redis 20 times while clients create videos without a pause.
func TestRedisDeaths(t *testing.T) {
	need(t, extentLong)
	t.Parallel()
	b := startBench(t, options{replicas: 2})
	var stop atomic.Bool
	var accepted atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for n := 0; !stop.Load(); n++ {
				holdsWithin(jobTimeout, func() bool { return b.ledger.waiting() < outstandingMax })
				if _, err := b.tryCreate(script("while Redis dies").with(fields{"num_frames": 5, "seed": n % 128})); err != nil {
					b.ledger.objection("%v", err)
					return
				}
				accepted.Add(1)
			}
		})
	}
	var took durations
	for range 20 {
		pause(t, 200*time.Millisecond+rand.N(2*time.Second))
		b.redis.Kill()
		b.must(b.redis.Restart(context.WithoutCancel(t.Context())))
		back := time.Now()
		before := accepted.Load()
		waitFor(t, jobTimeout, "a create after the restart", func() bool { return accepted.Load() > before })
		_, when := b.firstBegunAfter(back)
		took.add(when.Sub(back))
	}
	stop.Store(true)
	clients.Wait()
	for _, f := range b.problems(false) {
		t.Error(f)
	}
	t.Logf("measured: %d creates were answered, 20 deaths of Redis", accepted.Load())
	took.report(t, "the first run begins after Redis answers", 95, 5*time.Second, 10*time.Second)
}

// firstBegunAfter waits for the first attempt that begins after a moment.
func (b *bench) firstBegunAfter(moment time.Time) (id string, when time.Time) {
	b.t.Helper()
	waitFor(b.t, jobTimeout, "a run to begin", func() bool {
		for _, w := range b.workers {
			for _, l := range w.log.lines("attempt begins") {
				if l.Time.After(moment) && (id == "" || l.Time.Before(when)) {
					id, when = l.JobID, l.Time
				}
			}
		}
		return id != ""
	})
	return id, when
}

// racers is how many cancel at once, races how many cancels there are.
const (
	racers = 8
	races  = 1000
)

// TestCancelRaces (R9) cancels a thousand videos at moments spread over their life, by deleting them and by the operator's command. Each is cancelled, deleted or completed, and
// never two of these; its slot is free again soon.
func TestCancelRaces(t *testing.T) {
	need(t, extentLong)
	t.Parallel()
	b := startBench(t, options{replicas: 4})
	var next, deleted, cancelled, tooLate atomic.Int64
	var said sync.Map
	var group sync.WaitGroup
	for range racers {
		group.Go(func() {
			for n := next.Add(1); n <= races; n = next.Add(1) {
				s, err := b.tryCreate(script("raced step_ms=60"), "cancelled", "completed")
				if err != nil {
					b.ledger.objection("%v", err)
					continue
				}
				pause(t, rand.N(1500*time.Millisecond))
				said.Store(s.id, time.Now())
				if n%4 != 0 {
					b.raceDelete(s, int(n))
					deleted.Add(1)
					continue
				}
				var out string
				var ok bool
				holdsWithin(readyTimeout, func() bool { // the command ends where Redis does not answer in time
					out, ok = b.cancel(s.id)
					return ok || !strings.Contains(out, "not available")
				})
				switch {
				case ok:
					s.want = []string{"cancelled"}
					cancelled.Add(1)
				case strings.Contains(out, "has ended"):
					tooLate.Add(1)
				default:
					b.ledger.objection("cancel says: %s", out)
				}
			}
		})
	}
	group.Wait()
	for _, f := range b.problems(false) {
		t.Error(f)
	}
	var took durations
	for _, w := range b.workers {
		for _, l := range w.log.lines("attempt ends without a result") {
			if at, ok := said.Load(l.JobID); ok && l.Outcome == "cancelled" {
				took.add(l.Time.Sub(at.(time.Time)))
			}
		}
	}
	t.Logf("measured: %d deleted, %d cancelled, %d were completed before", deleted.Load(), cancelled.Load(), tooLate.Load())
	took.report(t, "the slot is free after a cancel", 99, 2*time.Second, 5*time.Second)
}

// raceDelete deletes a video, wherever it is: it is gone for good, at the other API too. A deletion whose answer was lost on its way, from Redis or
// from the API, is found done when it is repeated: that is a 404.
func (b *bench) raceDelete(s *story, n int) {
	b.ledger.remove(s.id)
	err := patiently(func() error { return b.apis[n%2].client.delete(context.Background(), s.id) })
	if err != nil && statusOf(err) != http.StatusNotFound {
		b.ledger.keep(s.id)
		b.ledger.objection("delete: %v", err)
		return
	}
	if err := patiently(func() error { _, err := b.apis[(n+1)%2].client.get(context.Background(), s.id); return err }); statusOf(err) != http.StatusNotFound {
		b.ledger.objection("%s was deleted and is there: %v", s.id, err)
	}
}
