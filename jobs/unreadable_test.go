package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"telefuser/jobs"
)

// Messages that nobody can read leave the queue; those of workers that died stay until the queue gives them back itself.
func TestUnreadableMessagesLeaveTheQueue(t *testing.T) {
	b := onRedis(t, quick())
	ctx := t.Context()
	job := b.create(t, "alice")
	base := "asynq:{" + b.cfg.Prefix + "." + pipeline + "}:"
	long := float64(time.Now().Add(-time.Minute).Unix())
	take := func(id string) {
		b.rdb.LPush(ctx, base+"active", id)
		b.rdb.ZAdd(ctx, base+"lease", redis.Z{Score: long, Member: id})
	}
	ticket := b.rdb.LRange(ctx, base+"pending", 0, -1).Val()
	if len(ticket) != 1 {
		t.Fatalf("tickets: %v", ticket)
	}
	b.rdb.Del(ctx, base+"pending")
	take(ticket[0]) // as by a worker that died
	for id, message := range map[string]string{"cut": "\x0a\x20job", "no text": "\x0a\x02\xff\xfe", "noise": "\xff\x00\xff", "another kind": "\x08\x01"} {
		b.rdb.HSet(ctx, base+"t:"+id, "msg", message, "state", "active")
		take(id)
	}
	b.rdb.HSet(ctx, base+"t:fresh", "msg", "\xff", "state", "active")
	b.rdb.LPush(ctx, base+"active", "fresh")
	b.rdb.ZAdd(ctx, base+"lease", redis.Z{Score: float64(time.Now().Add(time.Minute).Unix()), Member: "fresh"})
	b.reaper(t)
	eventually(t, func() bool { return b.rdb.ZCard(context.WithoutCancel(ctx), base+"lease").Val() == 2 })
	active := b.rdb.LRange(ctx, base+"active", 0, -1).Val()
	if len(active) != 2 || active[0] != "fresh" || active[1] != ticket[0] {
		t.Errorf("active: %v, want the fresh one and that of %s", active, job.ID)
	}
	eventually(t, func() bool { return undecodable(t, b.store) == 4 })
	if n := b.rdb.Exists(ctx, base+"t:noise").Val(); n != 0 {
		t.Error("its hash is still there")
	}
}

// undecodable is how many messages a store has counted as unreadable.
func undecodable(t *testing.T, store *jobs.Store) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(store.Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "telefuser_jobs_tickets_total" && m.GetLabel()[0].GetValue() == "undecodable" {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
