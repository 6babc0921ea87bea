package jobs_test

import (
	"context"
	"testing"
	"time"

	"telefuser/jobs"
)

func TestSubscribe(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		job := b.create(t, "alice")
		changes, cancel := b.store.Subscribe(ctx, job.ID)
		defer cancel()
		other, cancelOther := b.store.Subscribe(ctx, b.create(t, "alice").ID)
		channel := b.store.Key("changed")
		eventually(t, func() bool { return b.rdb.PubSubNumSub(ctx, channel).Val()[channel] == 1 })
		steps := []func(){
			func() { b.claim(t, job.ID, 0) },
			func() {
				if _, err := b.store.Cancel(ctx, "alice", job.ID); err != nil {
					t.Error(err)
				}
			},
			func() {
				if _, err := b.store.Delete(ctx, "alice", job.ID); err != nil {
					t.Error(err)
				}
			},
		}
		for i, step := range steps {
			start := time.Now()
			step()
			within(t, changes)
			if took := time.Since(start); took > time.Second {
				t.Errorf("step %d was seen after %v: by polling, not by its message", i, took)
			}
		}
		select {
		case <-other:
			t.Error("a change of one job woke those who watch another")
		default:
		}
		cancelOther()
		cancelOther()
		cancel()
		eventually(t, func() bool { return b.rdb.PubSubNumSub(ctx, channel).Val()[channel] == 0 })
	})
}

// A lost message is made good by polling, and the end of a context is the end of its subscription.
func TestSubscribeWithoutMessages(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes, _ := b.store.Subscribe(ctx, b.create(t, "alice").ID)
	b.mini.SetError("LOADING")
	start := time.Now()
	within(t, changes)
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("polled after %v", took)
	}
	b.mini.SetError("")
}
