package jobs_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"telefuser/jobs"
)

// 1,000 races of a deletion with a commit: the job is gone, or it is completed and then gone; a loser's commit is stale and its objects are garbage.
func TestDeleteRacesComplete(t *testing.T) {
	race(t, func(b *bundle, id string) error {
		_, err := b.store.Delete(context.Background(), "alice", id)
		return err
	},
		func(t *testing.T, b *bundle, id string, errEnd, errCommit error) {
			if errEnd != nil {
				t.Fatalf("delete: %v", errEnd)
			}
			if got := b.state(t, "alice", id); got != "missing" {
				t.Fatalf("the deleted job is %s", got)
			}
		})
}

// 1,000 races of a cancellation with a commit: one of them wins, and says so.
func TestCancelRacesComplete(t *testing.T) {
	race(t, func(b *bundle, id string) error {
		_, err := b.store.Cancel(context.Background(), "alice", id)
		return err
	},
		func(t *testing.T, b *bundle, id string, errEnd, errCommit error) {
			job := b.get(t, "alice", id)
			switch {
			case errEnd == nil && errors.Is(errCommit, jobs.ErrStale) && job.State == jobs.StateFailed && job.Failure.Code == jobs.CodeCancelled && job.Result == nil:
			case errors.Is(errEnd, jobs.ErrTerminal) && errCommit == nil && job.State == jobs.StateCompleted && job.Failure == nil:
			default:
				t.Fatalf("cancel %v, commit %v, job %+v", errEnd, errCommit, job)
			}
		})
}

func race(t *testing.T, end func(b *bundle, id string) error, check func(t *testing.T, b *bundle, id string, errEnd, errCommit error)) {
	t.Helper()
	b := onRedis(t, jobs.Config{})
	wins := 0
	for range 1000 {
		job := b.create(t, "alice")
		claim := b.claim(t, job.ID, 0)
		if err := claim.StageKeys(t.Context(), job.ID+".mp4"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var errEnd, errCommit error
		gate := make(chan struct{})
		wg.Go(func() { <-gate; errEnd = end(b, job.ID) })
		wg.Go(func() { <-gate; errCommit = claim.Complete(context.Background(), result(job.ID)) })
		close(gate)
		wg.Wait()
		if errCommit != nil && !errors.Is(errCommit, jobs.ErrStale) {
			t.Fatal(errCommit)
		}
		if errCommit == nil {
			wins++
		}
		check(t, b, job.ID, errEnd, errCommit)
		if n, err := b.rdb.ZScore(t.Context(), b.store.Key("r:"+pipeline), job.ID).Result(); !errors.Is(err, redis.Nil) {
			t.Fatalf("the job still has a lease until %f: %v", n, err)
		}
	}
	t.Logf("the commit won %d of 1000", wins)
}
