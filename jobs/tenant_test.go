package jobs_test

import (
	"errors"
	"testing"
	"time"

	"telefuser/jobs"
)

// To another tenant a job is as if it did not exist, on every path.
func TestTenantsSeeNothingOfEachOther(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		job := b.create(t, "alice")
		for _, id := range []string{job.ID, jobs.NewID(time.Now()), "video_*", "", "../x", "video_" + "\x00"} {
			_, errGet := b.store.Get(ctx, "bob", id)
			_, errDelete := b.store.Delete(ctx, "bob", id)
			_, errCancel := b.store.Cancel(ctx, "bob", id)
			for _, err := range []error{errGet, errDelete, errCancel} {
				if !errors.Is(err, jobs.ErrNotFound) {
					t.Errorf("%q: %v", id, err)
				}
			}
		}
		list, more, err := b.store.List(ctx, "bob", jobs.ListQuery{After: job.ID})
		if err != nil || more || len(list) != 0 {
			t.Errorf("bob lists %v, more %v, %v", list, more, err)
		}
		if got := b.get(t, "alice", job.ID); got.State != jobs.StateQueued {
			t.Errorf("alice's job is %s", got.State)
		}
		if _, _, err := b.store.Create(ctx, jobs.CreateRequest{Tenant: "bob", ID: job.ID, Spec: spec("x")}); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("bob took alice's id: %v", err)
		}
	})
}
