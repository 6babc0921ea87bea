package workers_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"telefuser/internal/devstack"
	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers"
)

func TestAKilledWorkerLosesNoJob(t *testing.T) {
	t.Parallel()
	for _, point := range []workers.Point{workers.PointClaimed, workers.PointHalf, workers.PointEncoding, workers.PointUploading, workers.PointBeforeCommit,
		workers.PointAfterCommit} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if point == workers.PointHalf {
				b.Jobs = jobs.Config{Prefix: b.Jobs.Prefix} // once with the real lease; it is long
			}
			b.caretakers()
			id := b.create(b.spec("step_ms=50"))
			victim := b.process("victim", point)
			_ = victim.Wait()
			died := time.Now()
			if status := victim.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
				t.Fatalf("the victim ended with %s", victim.ProcessState)
			}
			want := 2
			if point == workers.PointAfterCommit {
				want = 1
			}
			b.process("heir", "")
			wait(t, "the right attempt", func() bool { return b.get(id).Attempt == want })
			if took := time.Since(died); took > 20*time.Second {
				t.Errorf("attempt %d began after %s", want, took)
			}
			if job := b.completed(id); job.Attempt != want {
				t.Errorf("%d attempts", job.Attempt)
			}
			b.onlyArtifact(id, want)
			// The dead worker's files are swept by the next start, and its engine is gone with its socket.
			b.noTempOf(t, want)
		})
	}
}

// noTempOf waits until the living workers have no files of an attempt.
func (b *bench) noTempOf(t *testing.T, attempts int) {
	t.Helper()
	wait(t, "no files of attempts", func() bool {
		left, err := filepath.Glob(filepath.Join(b.Temp, "attempt-*"))
		// The heir may have begun before the victim died, so one dead folder may wait for the next start.
		return err == nil && len(left) < attempts
	})
}

func TestAWorkerThatSleptDoesNotCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caretakers()
	// The first attempt is slow enough to be caught in the middle; its frames come from the engine while it is stopped.
	once := filepath.Join(t.TempDir(), "once")
	id := b.create(b.spec("step_ms=400 once=" + once))
	sleeper := b.process("sleeper", "")
	wait(t, "the first attempt", func() bool { job := b.get(id); return job.Attempt == 1 && job.Progress > 0 })
	if err := sleeper.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.process("heir", "")
	job := b.completed(id)
	if job.Attempt != 2 {
		t.Fatalf("completed by attempt %d", job.Attempt)
	}
	if err := sleeper.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wait(t, "the sleeper's end of the attempt", func() bool { return strings.Contains(b.log.String(), "outcome=stale") })
	b.onlyArtifact(id, 2)
	if again := b.get(id); again.Result.SHA256 != job.Result.SHA256 || again.Attempt != 2 {
		t.Errorf("%+v", again)
	}
}

// badStore fails puts as told and counts the objects that came through.
type badStore struct {
	storage.Store
	mu   sync.Mutex
	fail func(put int, key string) error
	// after makes a put succeed and its answer fail.
	after bool
	puts  int
}

func (s *badStore) Put(ctx context.Context, key string, r io.Reader, o storage.PutOptions) (storage.Object, error) {
	s.mu.Lock()
	s.puts++
	err, after := s.fail(s.puts, key), s.after
	s.mu.Unlock()
	if err != nil && !after {
		return storage.Object{}, err
	}
	object, putErr := s.Store.Put(ctx, key, r, o)
	if putErr != nil {
		return object, putErr
	}
	return object, err
}

func (s *badStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.puts
}

func TestAStoreThatFailsCostsNoSecondRun(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"refused": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bad := &badStore{Store: b.files, after: after, fail: func(put int, _ string) error {
				if put%2 == 1 {
					return storage.ErrUnavailable
				}
				return nil
			}}
			b.objects = bad
			b.worker(nil)
			job := b.completed(b.create(b.spec("stubborn")))
			if job.Attempt != 1 {
				t.Errorf("%d attempts", job.Attempt)
			}
			if bad.count() != 8 && !after {
				t.Errorf("%d puts", bad.count())
			}
			b.onlyArtifact(job.ID, 1)
			b.noTemp()
		})
	}
}

func TestAStoreThatStaysAwayHandsTheJobBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Upload = 500 * time.Millisecond
	bad := &badStore{Store: b.files, fail: func(int, string) error { return storage.ErrUnavailable }}
	b.objects = bad
	b.worker(nil)
	id := b.create(b.spec("patient"))
	wait(t, "the hand-back", func() bool { job := b.get(id); return job.State == jobs.StateQueued && job.Attempt == 1 })
	bad.mu.Lock()
	bad.fail = func(int, string) error { return nil }
	bad.mu.Unlock()
	b.completed(id)
}

func TestAFullStoreFailsTheJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caretakers()
	b.objects = &badStore{Store: b.files, fail: func(_ int, key string) error {
		if strings.HasSuffix(key, "manifest.json") {
			return storage.ErrFull
		}
		return nil
	}}
	b.worker(nil)
	id := b.create(b.spec("too much"))
	if job := b.ended(id); job.Failure == nil || job.Failure.Code != jobs.CodeStorage {
		t.Errorf("%s, %+v", job.State, job.Failure)
	}
	wait(t, "the janitor", func() bool { return len(b.keys(id)) == 0 })
}

func TestCancelWhileUploading(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caretakers()
	uploading := make(chan struct{})
	var once sync.Once
	b.objects = &badStore{Store: b.files, fail: func(_ int, key string) error {
		if strings.HasSuffix(key, "thumbnail.webp") {
			once.Do(func() { close(uploading) })
			return storage.ErrUnavailable
		}
		return nil
	}}
	b.worker(nil)
	id := b.create(b.spec("cancelled late"))
	<-uploading
	if len(b.keys(id)) == 0 {
		t.Error("nothing was uploaded yet")
	}
	if _, err := b.records.Delete(t.Context(), "acme", id); err != nil {
		t.Fatal(err)
	}
	wait(t, "no objects", func() bool { return len(b.keys(id)) == 0 })
	if _, err := b.records.Get(t.Context(), "acme", id); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("the record: %v", err)
	}
	b.noTemp()
}

func TestDeletedVideosLoseTheirObjectsAndStayAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caretakers()
	b.worker(nil)
	kept, gone := b.completed(b.create(b.spec("kept"))), b.completed(b.create(b.spec("gone")))
	if _, err := b.records.Delete(t.Context(), "acme", gone.ID); err != nil {
		t.Fatal(err)
	}
	wait(t, "the janitor", func() bool { return len(b.keys(gone.ID)) == 0 })
	b.onlyArtifact(kept.ID, 1)
	// Lose every record of this test, and nobody else's.
	keys, err := b.client.Keys(t.Context(), b.Jobs.Prefix+":*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatal(keys, err)
	}
	if err := b.client.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.records.Get(t.Context(), "acme", kept.ID); !errors.Is(err, jobs.ErrNotFound) {
		t.Fatal(err)
	}
	for round, want := range []workers.Rebuilt{{Restored: 1}, {Present: 1}} {
		got, err := workers.Rebuild(t.Context(), b.records, b.files)
		if err != nil || got != want {
			t.Errorf("round %d: %+v, %v", round, got, err)
		}
	}
	again := b.completed(kept.ID)
	if again.Spec.Prompt != "kept" || again.Result.Frames != 45 || !again.CreatedAt.Equal(kept.CreatedAt) {
		t.Errorf("%+v", again)
	}
	if _, err := b.records.Get(t.Context(), "acme", gone.ID); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("the deleted one: %v", err)
	}
	page, _, err := b.records.List(t.Context(), "acme", jobs.ListQuery{Limit: 10})
	if err != nil || len(page) != 1 {
		t.Errorf("listed %d, %v", len(page), err)
	}
}

func TestRebuildSkipsWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.worker(nil)
	job := b.completed(b.create(b.spec("whole")))
	manifest := string(b.read(job.Result.ManifestKey))
	if err := b.files.Delete(t.Context(), job.Result.VideoKey); err != nil {
		t.Fatal(err)
	}
	cut := b.completed(b.create(b.spec("cut")))
	if err := b.files.Delete(t.Context(), cut.Result.VideoKey); err != nil {
		t.Fatal(err)
	}
	if _, err := b.files.Put(t.Context(), cut.Result.VideoKey, strings.NewReader("half"), storage.PutOptions{SizeBytes: -1}); err != nil {
		t.Fatal(err)
	}
	other := jobs.NewID(time.Now())
	for key, text := range map[string]string{
		"videos/" + other + "/1/manifest.json":  manifest, // another's
		"videos/" + other + "/2/manifest.json":  "no JSON",
		"videos/" + other + "/3/manifest.json":  `{"schema":99}`,
		"videos/" + other + "/x/manifest.json":  manifest, // no attempt
		"videos/" + other + "/4/thumbnail.webp": "no manifest",
	} {
		if _, err := b.files.Put(t.Context(), key, strings.NewReader(text), storage.PutOptions{SizeBytes: -1}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := workers.Rebuild(t.Context(), b.records, b.files)
	if err != nil || got != (workers.Rebuilt{Skipped: 5}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARunOutlivesItsRedis(t *testing.T) {
	t.Parallel()
	own, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{AppendFsync: "always"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Stop)
	b := newBench(t)
	b.Redis = own.Addr
	if b.records, b.client, err = b.setup.records(b.logger()); err != nil {
		t.Fatal(err)
	}
	b.caretakers()
	away, back := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.worker(func(c *workers.Config) {
		// The engine is done and the commit is still to come.
		c.Hooks = workers.Hooks{workers.PointEncoding: func() { once.Do(func() { close(away); <-back }) }}
	})
	id := b.create(b.spec("patient"))
	<-away
	own.Kill()
	close(back)
	// The attempt runs into the silence: it must wait for it to end, longer than its lease lasts.
	<-time.After(b.records.Config().LeaseTTL + time.Second)
	if err := own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, "the answer of the new server", func() bool { _, err := b.records.Get(t.Context(), "acme", id); return err == nil })
	if job := b.completed(id); job.Attempt != 1 {
		t.Errorf("%d attempts", job.Attempt)
	}
	b.onlyArtifact(id, 1)
}

func TestSIGTERMEndsAWorkerProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Grace = patience
	id := b.create(b.spec("step_ms=300"))
	p := b.process("polite", "")
	wait(t, "the run", func() bool { return b.get(id).State == jobs.StateInProgress })
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if job := b.completed(id); job.Attempt != 1 {
		t.Errorf("%d attempts", job.Attempt)
	}
	for _, dir := range []string{b.Temp, b.Runtime} {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
}
