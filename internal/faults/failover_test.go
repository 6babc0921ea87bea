package faults_test

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"telefuser/internal/devstack"
)

// TestFailover (F13) fails over to a replica that has lost the last moments: what was accepted before them ends, what was accepted in them is answered as missing, nothing
// hangs, and everybody works on.
func TestFailover(t *testing.T) {
	need(t, extentFull)
	t.Parallel()
	b := startBench(t, options{})
	replica, err := devstack.StartRedis(t.Context(), filepath.Join(b.dir, "replica"), devstack.RedisOptions{AppendFsync: redisFsync})
	b.must(err)
	t.Cleanup(replica.Kill)
	rdb := redis.NewClient(&redis.Options{Addr: replica.Addr, MaxRetries: 5})
	t.Cleanup(func() { _ = rdb.Close() })
	host, port, err := net.SplitHostPort(b.redis.Addr)
	b.must(err)
	b.must(rdb.ReplicaOf(t.Context(), host, port).Err())
	waitFor(t, readyTimeout, "the replica to follow", func() bool {
		info, err := rdb.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	moves := b.counting([]string{`telefuser_http_requests_total status="404"`})
	before := b.several(2, "done before")
	for _, s := range before {
		b.await(s)
	}
	running := b.busy("step_ms=400", 6)
	waiting := b.several(2, "accepted before")
	if n, err := b.rdb.Wait(t.Context(), 1, 5*time.Second).Result(); err != nil || n != 1 {
		t.Fatalf("the replica is behind: %d %v", n, err)
	}
	b.must(rdb.ReplicaOf(t.Context(), "NO", "ONE").Err())
	lost := b.several(3, "accepted in the lost second")
	b.ledger.disrupt()
	for _, s := range lost {
		b.ledger.remove(s.id)
	}
	pause(t, time.Second)
	b.redis.Kill()
	for _, n := range b.nodes() {
		n.redis.turn(replica.Addr)
	}
	b.redis, b.rdb = replica, rdb
	b.ledger.rewind()
	turned := time.Now()
	b.awaitReady()
	within(t, "the APIs are ready", time.Since(turned), 10*time.Second)
	for _, s := range append(append(before, running...), waiting...) {
		b.await(s)
	}
	for _, s := range lost {
		if _, err := b.apis[0].client.get(t.Context(), s.id); statusOf(err) != http.StatusNotFound {
			t.Errorf("what only the lost second knew: %v", err)
		}
	}
	b.await(b.create(script("after the failover")))
	for _, w := range b.workers {
		if w.ended() {
			t.Errorf("%s ended", w.name)
		}
	}
	moves.look()
	b.check()
}

// TestFlush (F14) loses every record: everybody says so, the runs stop, and what they have made is not stored as if it were somebody's.
func TestFlush(t *testing.T) {
	need(t, extentFull)
	t.Parallel()
	b := startBench(t, options{})
	running := b.busy("step_ms=500", 8)
	moves := b.counting([]string{"telefuser_jobs_record_sets_changed_total"})
	for _, s := range running {
		b.ledger.remove(s.id)
	}
	b.must(b.rdb.FlushAll(t.Context()).Err())
	flushed := time.Now()
	for _, a := range b.apis {
		waitFor(t, readyTimeout, a.name+" not to be ready", func() bool {
			err := a.client.ready(t.Context())
			return err != nil && strings.Contains(err.Error(), "records")
		})
	}
	within(t, "no API is ready", time.Since(flushed), 3*time.Second)
	for _, w := range b.workers {
		waitFor(t, readyTimeout, w.name+" to stop", func() bool { return b.metric(w, "telefuser_worker_busy_slots") == 0 })
	}
	within(t, "the runs have stopped", time.Since(flushed), 10*time.Second)
	for _, key := range filesBelow(filepath.Join(b.bucketsDir(), bucket)) {
		if strings.HasPrefix(key, "videos/") {
			t.Errorf("stored without a record: %s", key)
		}
	}
	moves.look()
	for _, a := range b.apis {
		if !strings.Contains(a.log.String(), "the mark is gone") {
			t.Errorf("%s does not say what happened", a.name)
		}
	}
}
