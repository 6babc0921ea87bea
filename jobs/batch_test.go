package jobs_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/jobs"
)

// batch asks for a batch of alice's.
func batchRequest(key, print string) jobs.CreateBatchRequest {
	return jobs.CreateBatchRequest{IdempotencyKey: key, Fingerprint: print,
		Batch: jobs.Batch{ID: jobs.NewBatchID(time.Now()), Tenant: "alice", Endpoint: "/v1/videos", InputFileID: "file-x", Window: "24h"}}
}

// TestBatchEndIsAnnouncedOnce ends a batch in every way: the webhook that wants it has one delivery, written with the end, and a second sending of the call adds none.
func TestBatchEndIsAnnouncedOnce(t *testing.T) {
	for status, event := range map[jobs.BatchStatus]string{jobs.BatchCompleted: jobs.EventBatchCompleted, jobs.BatchFailed: jobs.EventBatchFailed,
		jobs.BatchExpired: jobs.EventBatchExpired, jobs.BatchCancelled: jobs.EventBatchCancelled} {
		t.Run(string(status), func(t *testing.T) {
			each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
				ctx := t.Context()
				hook, deaf, other := b.hook(t, "alice"), b.hook(t, "alice", jobs.EventVideoFailed), b.hook(t, "bob")
				made, _, err := b.store.CreateBatch(ctx, batchRequest("", ""))
				if err != nil {
					t.Fatal(err)
				}
				held, taken, err := b.store.TakeBatch(ctx)
				if err != nil || !taken || held.ID != made.ID {
					t.Fatalf("%+v, %v, %v", held, taken, err)
				}
				again := held
				if err := b.store.SaveBatch(ctx, &held, status, nil, 0); err != nil {
					t.Fatal(err)
				}
				if err := b.store.SaveBatch(ctx, &again, status, nil, 0); !errors.Is(err, jobs.ErrStale) {
					t.Errorf("ended again: %v", err)
				}
				sent, err := b.store.ListDeliveries(ctx, "alice", hook.ID, 10)
				if err != nil || len(sent) != 1 || sent[0].Type != event || sent[0].SubjectID != made.ID || sent[0].EventID != "evt_"+strings.TrimPrefix(made.ID, "batch_") || sent[0].Failure != nil {
					t.Errorf("deliveries %+v, %v", sent, err)
				}
				if sent, err := b.store.ListDeliveries(ctx, "alice", deaf.ID, 10); err != nil || len(sent) != 0 {
					t.Errorf("one that wants no such event: %+v, %v", sent, err)
				}
				if sent, err := b.store.ListDeliveries(ctx, "bob", other.ID, 10); err != nil || len(sent) != 0 {
					t.Errorf("another tenant's: %+v, %v", sent, err)
				}
			})
		})
	}
}

// TestEqualBatchesAreOne replays by key, and without one by the client's word that it comes again; other fields under the same key are refused.
func TestEqualBatchesAreOne(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		print, otherPrint := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
		create := func(key, print string, retry bool, change ...func(*jobs.CreateBatchRequest)) (jobs.Batch, bool, error) {
			r := batchRequest(key, print)
			r.Retry = retry
			for _, c := range change {
				c(&r)
			}
			return b.store.CreateBatch(ctx, r)
		}
		first, replayed, err := create("k", print, false)
		if err != nil || replayed {
			t.Fatal(replayed, err)
		}
		if again, replayed, err := create("k", print, true); err != nil || !replayed || again.ID != first.ID || again.InputFileID != "file-x" || !again.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("by key: %+v, %v, %v", again, replayed, err)
		}
		if _, _, err := create("k", otherPrint, false); !errors.Is(err, jobs.ErrIdempotencyMismatch) {
			t.Errorf("other fields: %v", err)
		}
		if bobs, replayed, err := create("k", otherPrint, false, func(r *jobs.CreateBatchRequest) { r.Batch.Tenant = "bob" }); err != nil || replayed || bobs.ID == first.ID {
			t.Errorf("another tenant's key: %v, %v", replayed, err)
		}
		plain, replayed, err := create("", print, false)
		if err != nil || replayed || plain.ID == first.ID {
			t.Errorf("without a key: %v, %v", replayed, err)
		}
		if equal, replayed, err := create("", print, false); err != nil || replayed || equal.ID == plain.ID {
			t.Errorf("equal, and no retry: %v, %v", replayed, err)
		} else if again, replayed, err := create("", print, true); err != nil || !replayed || again.ID != equal.ID {
			t.Errorf("a retry: %+v, %v, %v", again, replayed, err)
		}
		if other, replayed, err := create("", otherPrint, true); err != nil || replayed || other.ID == "" {
			t.Errorf("a retry of something else: %v, %v", replayed, err)
		}
		same := func(r *jobs.CreateBatchRequest) { r.Batch.ID = first.ID }
		if resent, _, err := create("x", print, false, same); err != nil || resent.ID != first.ID {
			t.Errorf("the same call, sent twice: %+v, %v", resent, err)
		}
	})
}

// TestParallelEqualBatchesAreOne sends one request twenty times at once.
func TestParallelEqualBatchesAreOne(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ids := make([]string, 20)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				made, _, err := b.store.CreateBatch(t.Context(), batchRequest("k", strings.Repeat("ab", 32)))
				if ids[i] = made.ID; err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("ids %v", ids)
			}
		}
		if page, _, err := b.store.ListBatches(t.Context(), "alice", jobs.ListQuery{}); err != nil || len(page) != 1 {
			t.Errorf("%d batches, %v", len(page), err)
		}
	})
}
