package jobs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/jobs"
)

// next claims the job whose turn it is and answers its tenant and id; empty when nothing may begin.
func (b *bundle) next(t testing.TB) (tenant, id string) {
	t.Helper()
	claim, err := b.store.Next(t.Context(), pipeline)
	if errors.Is(err, jobs.ErrStale) {
		return "", ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return claim.Job.Tenant, claim.ID
}

// turns claims until nothing may begin any more.
func (b *bundle) turns(t testing.TB) string {
	t.Helper()
	var out []string
	for {
		tenant, _ := b.next(t)
		if tenant == "" {
			return strings.Join(out, " ")
		}
		out = append(out, tenant)
	}
}

// Tenants take turns, one job each, however many jobs each of them has; who comes later has the last turn.
func TestTenantsTakeTurns(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		for _, tenant := range strings.Fields("a a a a a b b c") {
			b.create(t, tenant)
		}
		if tenant, _ := b.next(t); tenant != "a" {
			t.Fatalf("%s is first", tenant)
		}
		b.create(t, "d")
		if got := b.turns(t); got != "b c a d b a a a" {
			t.Errorf("then came %s", got)
		}
		b.create(t, "b")
		b.create(t, "a")
		if got := b.turns(t); got != "b a" {
			t.Errorf("after everybody was through came %s", got)
		}
	})
}

// A job that comes back has the next turn, and goes before its tenant's other jobs; one that rests has none until its rest is over.
func TestWhatComesBackGoesFirst(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		for _, tenant := range strings.Fields("a b b a") {
			b.create(t, tenant)
		}
		b.next(t)
		claim, err := b.store.Next(t.Context(), pipeline)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := claim.Requeue(t.Context(), jobs.CauseDraining); err != nil {
			t.Fatal(err)
		}
		if tenant, id := b.next(t); tenant != "b" || id != claim.ID {
			t.Errorf("%s of %s came in place of what had come back", id, tenant)
		}
		claim, err = b.store.Next(t.Context(), pipeline)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := claim.Requeue(t.Context(), jobs.CauseTransient); err != nil {
			t.Fatal(err)
		}
		if got := b.turns(t); got != "b" {
			t.Errorf("while a job rests came %q", got)
		}
		if _, queued, err := b.store.QueuePosition(t.Context(), b.get(t, "a", claim.ID)); err != nil || !queued {
			t.Errorf("a job that rests has no place: %v", err)
		}
		resumed, err := b.store.Claim(t.Context(), pipeline, "worker-2", claim.ID, 1)
		if err != nil || resumed.Attempt != 2 {
			t.Errorf("its own ticket begins %+v, %v", resumed, err)
		}
	})
}

// That a job came back counts for more than its tenant's priorities.
func TestWhatComesBackGoesBeforeItsBetters(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		low, high := spec("low"), spec("high")
		low.Priority, high.Priority = jobs.PriorityLow, jobs.PriorityHigh
		create := func(s jobs.Spec) {
			t.Helper()
			if _, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "a", Spec: s}); err != nil {
				t.Fatal(err)
			}
		}
		create(low)
		claim, err := b.store.Next(t.Context(), pipeline)
		if err != nil {
			t.Fatal(err)
		}
		create(high)
		if _, err := claim.Requeue(t.Context(), jobs.CauseDraining); err != nil {
			t.Fatal(err)
		}
		if _, id := b.next(t); id != claim.ID {
			t.Error("a job of high priority came before the one that had come back")
		}
	})
}

// Priority orders one tenant's jobs and no other's; a step of waiting makes up for a step of priority.
func TestPriority(t *testing.T) {
	each(t, jobs.Config{PriorityStep: 300 * time.Millisecond}, func(t *testing.T, b *bundle) {
		ids := map[string]string{}
		add := func(tenant, name string, priority jobs.Priority) {
			t.Helper()
			s := spec(name)
			s.Priority = priority
			job, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: tenant, Spec: s})
			if err != nil {
				t.Fatal(err)
			}
			ids[job.ID] = name
			if got := b.get(t, tenant, job.ID); got.Spec.Priority != priority {
				t.Errorf("read back as %q", got.Spec.Priority)
			}
		}
		add("a", "low", jobs.PriorityLow)
		add("a", "normal", "")
		add("b", "other", jobs.PriorityLow)
		add("a", "high", jobs.PriorityHigh)
		b.pass(t, 700*time.Millisecond)
		add("a", "late normal", jobs.PriorityNormal)
		add("a", "late high", jobs.PriorityHigh)
		var got []string
		for {
			_, id := b.next(t)
			if id == "" {
				break
			}
			got = append(got, ids[id])
		}
		if want := []string{"high", "other", "normal", "low", "late high", "late normal"}; !slices.Equal(got, want) {
			t.Errorf("came %v, want %v", got, want)
		}
		s := spec("x")
		s.Priority = "urgent"
		if _, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "a", Spec: s}); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("a made-up priority: %v", err)
		}
	})
}

// The place in the queue is the number of claims until a job's turn.
func TestQueuePositionIsTheTurn(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	random := rand.New(rand.NewPCG(7, 1))
	for round := range 5 {
		var all []jobs.Job
		for range 40 {
			s := spec("x")
			s.Priority = []jobs.Priority{jobs.PriorityHigh, "", jobs.PriorityLow}[random.IntN(3)]
			job, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: fmt.Sprint("t", random.IntN(1+2*round)), Spec: s})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, job)
			if random.IntN(4) == 0 {
				_, id := b.next(t)
				all = slices.DeleteFunc(all, func(j jobs.Job) bool { return j.ID == id })
			}
		}
		want := map[string]int{}
		for _, job := range all {
			place, queued, err := b.store.QueuePosition(t.Context(), job)
			if err != nil || !queued {
				t.Fatalf("%s: queued %v, %v", job.ID, queued, err)
			}
			want[job.ID] = place
		}
		for n := 1; len(want) > 0; n++ {
			_, id := b.next(t)
			if want[id] != n {
				t.Errorf("round %d: turn %d is of the job at place %d", round, n, want[id])
			}
			delete(want, id)
		}
	}
}

// With more tenants than are looked at the place is an estimate, never above the queue and never below the job's own lane.
func TestQueuePositionOfManyTenants(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	var last jobs.Job
	for i := range 400 {
		last = b.create(t, fmt.Sprint("t", i%200))
	}
	if place, _, err := b.store.QueuePosition(t.Context(), last); err != nil || place < 360 || place > 400 {
		t.Errorf("the last of 400 jobs is at %d, %v", place, err)
	}
}

// The answer of a claim that was lost on the way is given again under its nonce, and nothing else begins.
func TestClaimSentTwice(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		first, second := b.create(t, "a"), b.create(t, "a")
		for range 2 {
			if outcome, id, err := b.store.ClaimUnder(t.Context(), pipeline, "n1"); err != nil || outcome != "claimed" || id != first.ID {
				t.Fatalf("%s %s, %v", outcome, id, err)
			}
		}
		if got := b.state(t, "a", second.ID); got != "queued" {
			t.Errorf("the second job is %s", got)
		}
		if _, err := b.store.Cancel(t.Context(), "a", first.ID); err != nil {
			t.Fatal(err)
		}
		if outcome, _, err := b.store.ClaimUnder(t.Context(), pipeline, "n1"); err != nil || outcome != "stale" {
			t.Errorf("after its end the answer is %s, %v", outcome, err)
		}
	})
}

// Through real worker processes: a tenant with thousands of queued jobs keeps another's single job from running for no longer than two runs.
func TestOneJobAmongThousands(t *testing.T) {
	const backlog, run = 5000, 150 * time.Millisecond
	b := onRedis(t, quick())
	b.reaper(t)
	var filled sync.WaitGroup
	for range 8 {
		filled.Go(func() {
			for range backlog / 8 {
				if _, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "alice", Spec: spec("x")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	filled.Wait()
	workers := []*workerProcess{b.worker(t, "first", run), b.worker(t, "second", run)}
	for _, w := range workers {
		within(t, w.lines)
		within(t, w.lines)
	}
	job := b.create(t, "bob")
	place, _, err := b.store.QueuePosition(t.Context(), job)
	if err != nil || place > 2 {
		t.Errorf("the single job is at place %d, %v", place, err)
	}
	eventually(t, func() bool { return b.state(t, "bob", job.ID) != "queued" })
	began := b.get(t, "bob", job.ID)
	counts, err := b.store.Counts(t.Context(), pipeline)
	if err != nil || counts.Queued < backlog-100 {
		t.Errorf("%+v, %v: the backlog was no backlog", counts, err)
	}
	waited := began.StartedAt.Sub(began.CreatedAt)
	if slack := time.Second; waited > 2*run+slack { // a fair queue's 5,000 runs are minutes
		t.Errorf("it began after %v; runs take %v", waited, run)
	}
	t.Logf("began %v after it was accepted, behind %d jobs whose runs take %v", waited, backlog, run)
}
