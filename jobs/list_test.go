package jobs_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"telefuser/jobs"
)

// pages walks a whole listing; between sees every page but the last.
func (b *bundle) pages(t *testing.T, tenant string, q jobs.ListQuery, between func(page []jobs.Job)) []string {
	t.Helper()
	var ids []string
	for {
		page, more, err := b.store.List(t.Context(), tenant, q)
		if err != nil {
			t.Fatal(err)
		}
		if more && len(page) == 0 {
			t.Fatal("an empty page says that more follows")
		}
		if len(page) > q.Limit {
			t.Fatalf("%d rows, limit %d", len(page), q.Limit)
		}
		for _, job := range page {
			ids = append(ids, job.ID)
		}
		if !more {
			return ids
		}
		q.After = page[len(page)-1].ID
		if between != nil {
			between(page)
		}
	}
}

func TestListPages(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		var want []string
		for range 25 {
			want = append(want, b.create(t, "alice").ID)
		}
		b.create(t, "bob")
		slices.Sort(want)
		for _, limit := range []int{1, 5, 7, 24, 25, 100} {
			if got := b.pages(t, "alice", jobs.ListQuery{Limit: limit}, nil); !slices.Equal(got, want) {
				t.Errorf("limit %d: %v", limit, got)
			}
			got := b.pages(t, "alice", jobs.ListQuery{Limit: limit, Descending: true}, nil)
			slices.Reverse(got)
			if !slices.Equal(got, want) {
				t.Errorf("limit %d, newest first: %v", limit, got)
			}
		}
		page, more, err := b.store.List(t.Context(), "alice", jobs.ListQuery{})
		if err != nil || len(page) != jobs.ListLimitDefault || !more {
			t.Errorf("no limit: %d rows, more %v, %v", len(page), more, err)
		}
	})
}

// A page's last row, and with it the cursor, may be deleted before the next page is asked for.
func TestListSurvivesDeletion(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		var want []string
		for range 20 {
			want = append(want, b.create(t, "alice").ID)
		}
		slices.Sort(want)
		got := b.pages(t, "alice", jobs.ListQuery{Limit: 3}, func(page []jobs.Job) {
			for _, job := range page {
				if _, err := b.store.Delete(t.Context(), "alice", job.ID); err != nil {
					t.Fatal(err)
				}
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
	})
}

// Expired rows that nobody has swept yet neither show nor empty a page, however many they are.
func TestListSkipsExpired(t *testing.T) {
	each(t, jobs.Config{RetentionTTL: 100 * time.Millisecond}, func(t *testing.T, b *bundle) {
		for range 30 {
			job := b.create(t, "alice")
			if _, err := b.store.Cancel(t.Context(), "alice", job.ID); err != nil {
				t.Fatal(err)
			}
		}
		live := b.create(t, "alice").ID
		b.pass(t, 110*time.Millisecond)
		got := b.pages(t, "alice", jobs.ListQuery{Limit: 2}, nil)
		if !slices.Equal(got, []string{live}) {
			t.Errorf("listed %v, want %s alone", got, live)
		}
		if n := b.rdb.ZCard(t.Context(), b.store.Key("expiry")).Val(); n != 0 {
			t.Errorf("%d expired records stay", n)
		}
	})
}

func TestListRefusesCursors(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	for _, after := range []string{"x", "video_", "video_" + fmt.Sprintf("%026d", 1) + "\n", "(video_"} {
		if _, _, err := b.store.List(t.Context(), "alice", jobs.ListQuery{After: after}); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("%q: %v", after, err)
		}
	}
}

func TestQueuePositionAndCounts(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		var list []jobs.Job
		for range 3 {
			list = append(list, b.create(t, "alice"))
			b.pass(t, 2*time.Millisecond)
		}
		position := func(i, want int) {
			t.Helper()
			got, queued, err := b.store.QueuePosition(ctx, list[i])
			if err != nil || got != want || queued != (want > 0) {
				t.Errorf("job %d: position %d, queued %v, %v; want %d", i, got, queued, err, want)
			}
		}
		position(0, 1)
		position(2, 3)
		b.claim(t, list[0].ID, 0)
		position(0, 0)
		position(2, 2)
		counts, err := b.store.Counts(ctx, pipeline)
		if err != nil || counts.Queued != 2 || counts.Running != 1 || counts.OldestQueuedAge <= 0 || counts.OldestQueuedAge > time.Minute {
			t.Errorf("counts %+v, %v", counts, err)
		}
	})
}
