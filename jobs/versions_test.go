package jobs_test

import (
	"context"
	"slices"
	"testing"

	"telefuser/jobs"
)

// fieldsOfThisVersion are those that the version before did not write.
var fieldsOfThisVersion = []string{"y", "du", "b"}

// forget takes them from a record.
func (b *bundle) forget(t testing.TB, id string) {
	t.Helper()
	if err := b.rdb.HDel(t.Context(), b.store.Key("j:"+id), fieldsOfThisVersion...).Err(); err != nil {
		t.Fatal(err)
	}
}

// TestRecordsOfTheVersionBefore: one in each state, as that version left it, lives on under this one to its end.
func TestRecordsOfTheVersionBefore(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		ctx := t.Context()
		completed, running, queued := b.create(t, "alice"), b.create(t, "alice"), b.create(t, "alice")
		if err := b.claim(t, completed.ID, 0).Complete(ctx, result("old")); err != nil {
			t.Fatal(err)
		}
		b.claim(t, running.ID, 0)
		b.unlane(t, "alice")
		for _, id := range []string{completed.ID, running.ID, queued.ID} {
			b.forget(t, id)
		}
		if got := b.get(t, "alice", completed.ID); got.State != jobs.StateCompleted || got.Result.VideoKey != "old.mp4" || got.Spec.Prompt == "" {
			t.Errorf("a completed one: %+v", got)
		}
		if page, _, err := b.store.List(ctx, "alice", jobs.ListQuery{}); err != nil || len(page) != 3 {
			t.Errorf("%d of them are listed, %v", len(page), err)
		}
		b.expireLease(t, running.ID)
		b.reap(t)
		b.consume(t, jobs.ConsumerConfig{}, func(ctx context.Context, c *jobs.Claim) {
			if err := c.Complete(context.WithoutCancel(ctx), result("new")); err != nil {
				t.Error(err)
			}
		})
		b.reaper(t)
		for id, attempt := range map[string]int{running.ID: 2, queued.ID: 1} {
			b.eventuallyState(t, id, "completed")
			if got := b.get(t, "alice", id); got.Attempt != attempt {
				t.Errorf("%s ended with attempt %d, want %d", id, got.Attempt, attempt)
			}
		}
		for _, id := range []string{completed.ID, running.ID, queued.ID} {
			if _, err := b.store.Delete(ctx, "alice", id); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestRecordsOfTheVersionAfter: this one shows them as far as it understands, keeps what it does not, and leaves them to a worker that knows them.
func TestRecordsOfTheVersionAfter(t *testing.T) {
	each(t, quick(), func(t *testing.T, b *bundle) {
		ctx := t.Context()
		job := b.create(t, "alice")
		key := b.store.Key("j:" + job.ID)
		text := b.rdb.HGet(ctx, key, "spec").Val()
		b.rdb.HSet(ctx, key, "v", jobs.SchemaVersion+1, "zz", "of the next version", "spec", `{"shutter":{"open":[1,2]},`+text[1:])
		if got := b.get(t, "alice", job.ID); got.State != jobs.StateQueued || got.Spec.Prompt != job.Spec.Prompt {
			t.Errorf("%+v", got)
		}
		if _, err := b.store.Claim(ctx, pipeline, "worker-1", job.ID, 0); err == nil {
			t.Error("it was claimed")
		}
		if claim, err := b.store.Next(ctx, pipeline); err == nil {
			t.Errorf("the turn of %s came", claim.ID)
		}
		b.reap(t)
		other := b.create(t, "alice")
		if _, id := b.next(t); id != other.ID {
			t.Errorf("behind it came %q, want the next job of this version", id)
		}
		if got := b.rdb.HMGet(ctx, key, "s", "a", "zz").Val(); !slices.Equal(got, []any{"queued", "0", "of the next version"}) {
			t.Errorf("the record is %v", got)
		}
		if _, err := b.store.Cancel(ctx, "alice", job.ID); err != nil {
			t.Errorf("its user cancels it: %v", err)
		}
		if got := b.get(t, "alice", job.ID); got.Failure == nil || got.Failure.Code != jobs.CodeCancelled {
			t.Errorf("cancelled: %+v", got)
		}
	})
}
