package jobs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/internal/devstack"
	"telefuser/jobs"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestCreateIsReadBackWhole(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		s := spec("a valley")
		s.WorldPrompt, s.Parameters, s.Camera, s.ImageKey = "hills", map[string]any{"detail": 2.0}, []byte(`[{"w":1}]`), "inputs/a.png"
		s.Metadata, s.RequestID = map[string]string{"a": "é\n\x00"}, "req-1"
		s.Source = &jobs.Source{ID: jobs.NewID(time.Now()), VideoKey: "v", State: []byte{0, 255}, Frames: 5}
		before := b.clock(t).Truncate(time.Millisecond)
		job, replayed, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "alice", Spec: s})
		if err != nil || replayed {
			t.Fatal(replayed, err)
		}
		got := b.get(t, "alice", job.ID)
		if !equalJSON(t, job, got) {
			t.Errorf("created %+v, read %+v", job, got)
		}
		if got.State != jobs.StateQueued || got.Attempt != 0 || got.Progress != 0 || got.CreatedAt.Before(before) || !got.StartedAt.IsZero() || !got.ExpiresAt.IsZero() {
			t.Errorf("read %+v", got)
		}
	})
}

func TestCreateRefusesWhatDoesNotFitItsKeys(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	good := func() jobs.CreateRequest {
		return jobs.CreateRequest{Tenant: "alice", Spec: spec("x"), Fingerprint: digest("x")}
	}
	for name, spoil := range map[string]func(*jobs.CreateRequest){
		"no tenant":      func(r *jobs.CreateRequest) { r.Tenant = "" },
		"tenant":         func(r *jobs.CreateRequest) { r.Tenant = "a:b" },
		"id":             func(r *jobs.CreateRequest) { r.ID = "video_x" },
		"no pipeline":    func(r *jobs.CreateRequest) { r.Spec.Pipeline = "" },
		"pipeline":       func(r *jobs.CreateRequest) { r.Spec.Pipeline = "a b" },
		"huge spec":      func(r *jobs.CreateRequest) { r.Spec.Prompt = strings.Repeat("x", jobs.SpecBytesMax) },
		"fingerprint":    func(r *jobs.CreateRequest) { r.Fingerprint = "abc" },
		"long key":       func(r *jobs.CreateRequest) { r.IdempotencyKey = strings.Repeat("k", jobs.IdempotencyKeyBytesMax+1) },
		"staged newline": func(r *jobs.CreateRequest) { r.StagedKeys = []string{"a\nb"} },
	} {
		req := good()
		spoil(&req)
		if _, _, err := b.store.Create(t.Context(), req); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if keys := b.keys(t); len(keys) != 0 {
		t.Errorf("left behind: %v", keys)
	}
}

func TestIdempotencyKey(t *testing.T) {
	each(t, jobs.Config{IdempotencyTTL: time.Second}, func(t *testing.T, b *bundle) {
		req := jobs.CreateRequest{Tenant: "alice", Spec: spec("x"), IdempotencyKey: "k 1\n", Fingerprint: digest("x")}
		create := func(req jobs.CreateRequest) (jobs.Job, bool) {
			t.Helper()
			job, replayed, err := b.store.Create(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			return job, replayed
		}
		first, replayed := create(req)
		if replayed {
			t.Fatal("the first is a replay")
		}
		if again, replayed := create(req); !replayed || again.ID != first.ID || again.Spec.Prompt != "x" {
			t.Errorf("second: %v, replayed %v", again.ID, replayed)
		}
		other := req
		other.Fingerprint = digest("y")
		if _, _, err := b.store.Create(t.Context(), other); !errors.Is(err, jobs.ErrIdempotencyMismatch) {
			t.Errorf("other fields: %v", err)
		}
		bob := req
		bob.Tenant = "bob"
		if job, replayed := create(bob); replayed || job.ID == first.ID {
			t.Error("another tenant met alice's key")
		}
		b.pass(t, 1010*time.Millisecond)
		if job, replayed := create(other); replayed || job.ID == first.ID {
			t.Error("the key outlived its time")
		}
		deleted, _ := create(jobs.CreateRequest{Tenant: "alice", Spec: spec("x"), IdempotencyKey: "k2", Fingerprint: digest("x")})
		if _, err := b.store.Delete(t.Context(), "alice", deleted.ID); err != nil {
			t.Fatal(err)
		}
		if job, replayed := create(jobs.CreateRequest{Tenant: "alice", Spec: spec("x"), IdempotencyKey: "k2", Fingerprint: digest("x")}); replayed || job.ID == deleted.ID {
			t.Error("a deleted job was replayed")
		}
	})
}

// A job whose retention is over is not replayed, swept or not.
func TestExpiredIsNotReplayed(t *testing.T) {
	each(t, jobs.Config{RetentionTTL: 700 * time.Millisecond}, func(t *testing.T, b *bundle) {
		for _, req := range []jobs.CreateRequest{
			{Tenant: "alice", Spec: spec("x"), IdempotencyKey: "k", Fingerprint: digest("x")},
			{Tenant: "alice", Spec: spec("y"), Retry: true, Fingerprint: digest("y")},
		} {
			first, _, err := b.store.Create(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.store.Cancel(t.Context(), "alice", first.ID); err != nil {
				t.Fatal(err)
			}
			if job, replayed, err := b.store.Create(t.Context(), req); err != nil || !replayed || job.State != jobs.StateFailed {
				t.Errorf("a kept job: replayed %v as %s, %v", replayed, job.State, err)
			}
			b.pass(t, 710*time.Millisecond)
			if job, replayed, err := b.store.Create(t.Context(), req); err != nil || replayed || job.ID == first.ID {
				t.Errorf("an expired job: replayed %v, %v", replayed, err)
			}
		}
	})
}

func TestFiftyEqualCreatesMakeOneJob(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ids := make(chan string, 50)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				job, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "alice", Spec: spec("x"), IdempotencyKey: "k", Fingerprint: digest("x")})
				if err != nil {
					t.Error(err)
				}
				ids <- job.ID
			})
		}
		wg.Wait()
		close(ids)
		seen := map[string]bool{}
		for id := range ids {
			seen[id] = true
		}
		list, _, err := b.store.List(t.Context(), "alice", jobs.ListQuery{})
		if err != nil || len(seen) != 1 || len(list) != 1 {
			t.Errorf("%d ids answered, %d jobs stored, %v", len(seen), len(list), err)
		}
	})
}

func TestRetryOfAnSDKIsTheSameJob(t *testing.T) {
	each(t, jobs.Config{DedupeTTL: time.Second}, func(t *testing.T, b *bundle) {
		create := func(text string, retry bool) (string, bool) {
			t.Helper()
			job, replayed, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "alice", Spec: spec(text), Fingerprint: digest(text), Retry: retry})
			if err != nil {
				t.Fatal(err)
			}
			return job.ID, replayed
		}
		first, _ := create("x", false)
		if id, replayed := create("x", true); !replayed || id != first {
			t.Error("the retry made a second job")
		}
		if _, replayed := create("y", true); replayed {
			t.Error("a retry of other fields was replayed")
		}
		if id, replayed := create("x", false); replayed || id == first {
			t.Error("a wanted second job was swallowed")
		}
		b.pass(t, 1010*time.Millisecond)
		if _, replayed := create("x", true); replayed {
			t.Error("a retry after the window was replayed")
		}
	})
}

func TestQueueFull(t *testing.T) {
	each(t, jobs.Config{QueuedMax: 3}, func(t *testing.T, b *bundle) {
		for range 3 {
			b.create(t, "alice")
		}
		_, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "alice", Spec: spec("x")})
		if !errors.Is(err, jobs.ErrQueueFull) {
			t.Fatalf("the fourth: %v", err)
		}
		other := spec("x")
		other.Pipeline = "wan2.1-t2v-1.3b"
		if _, _, err := b.store.Create(t.Context(), jobs.CreateRequest{Tenant: "alice", Spec: other}); err != nil {
			t.Errorf("another pipeline: %v", err)
		}
		list, _, err := b.store.List(t.Context(), "alice", jobs.ListQuery{})
		if err != nil || len(list) != 4 {
			t.Errorf("%d jobs, %v", len(list), err)
		}
	})
}

// A process that dies between record and ticket leaves a job that the reaper finds.
func TestTicketLostAfterRecord(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		b.store.SetAfterRecord(func() error { return errors.New("killed") })
		job := b.create(t, "alice")
		b.store.SetAfterRecord(nil)
		b.pass(t, 2100*time.Millisecond)
		b.reap(t)
		if n := b.rdb.LLen(t.Context(), "asynq:{"+b.store.Queue(pipeline)+"}:pending").Val(); n != 1 {
			t.Fatalf("%d tickets", n)
		}
		if n := b.rdb.ZCard(t.Context(), b.store.Key("outbox")).Val(); n != 0 {
			t.Errorf("%d entries stay in the outbox", n)
		}
		b.claim(t, job.ID, 0)
	})
}

// The outbox is emptied by the creates that follow, without a call of its own.
func TestOutboxIsClearedInPassing(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	for range 10 {
		b.create(t, "alice")
	}
	if n := b.rdb.ZCard(t.Context(), b.store.Key("outbox")).Val(); n != 1 {
		t.Errorf("%d entries in the outbox, want that of the last create alone", n)
	}
}

func TestCreateWithoutRedis(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	b.mini.SetError("LOADING")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, _, err := b.store.Create(ctx, jobs.CreateRequest{Tenant: "alice", Spec: spec("x")}); !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("create: %v", err)
	}
	if _, err := b.store.Get(ctx, "alice", jobs.NewID(time.Now())); !errors.Is(err, jobs.ErrUnavailable) || errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	b.mini.SetError("")
	if keys := b.keys(t); len(keys) != 0 {
		t.Errorf("left behind: %v", keys)
	}
}

func TestStagedObjects(t *testing.T) {
	each(t, jobs.Config{StagedTTL: time.Second}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		if err := b.store.Stage(ctx, "inputs/a.png", "inputs/b.png"); err != nil {
			t.Fatal(err)
		}
		job, _, err := b.store.Create(ctx, jobs.CreateRequest{Tenant: "alice", Spec: spec("x"), StagedKeys: []string{"inputs/a.png"}})
		if err != nil {
			t.Fatal(err)
		}
		b.pass(t, 1010*time.Millisecond)
		if _, err := b.store.SweepExpired(ctx, 10); err != nil {
			t.Fatal(err)
		}
		if got := b.garbage(t); len(got) != 1 || got[0] != "inputs/b.png" {
			t.Errorf("garbage %v, want the object nobody took", got)
		}
		_, _, err = b.store.Create(ctx, jobs.CreateRequest{Tenant: "alice", Spec: spec("x"), StagedKeys: []string{"inputs/b.png"}})
		if !errors.Is(err, jobs.ErrUnstaged) {
			t.Errorf("a given up object was taken: %v", err)
		}
		if _, err := b.store.Delete(ctx, "alice", job.ID); err != nil {
			t.Fatal(err)
		}
		if got := b.garbage(t); len(got) != 1 || got[0] != "inputs/a.png" {
			t.Errorf("garbage %v, want the deleted job's picture", got)
		}
	})
}

// A queued job fits into 2 KB of Redis with everything that belongs to it: record, indexes, ticket, the memory for retries.
func TestQueuedJobIsSmall(t *testing.T) {
	server, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	const n = 5000
	b := setup(t, server.Addr, jobs.Config{})
	before := usedMemory(t, b)
	b.fill(t, n)
	if per := (usedMemory(t, b) - before) / n; per > 2048 {
		t.Errorf("a queued job takes %d bytes", per)
	} else {
		t.Logf("a queued job takes %d bytes", per)
	}
}
