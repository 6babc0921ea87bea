package jobs_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"telefuser/jobs"
)

func TestFiles(t *testing.T) {
	each(t, jobs.Config{StagedTTL: time.Second}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		var want []string
		var files []jobs.FileRecord
		for range 5 {
			f := jobs.FileRecord{ID: jobs.NewFileID(time.Now()), Tenant: "alice", Filename: "a\nb.png", Purpose: "vision", SizeBytes: 12, ContentType: "image/png", SHA256: digest("x")}
			f.Key = "files/" + f.ID
			if err := b.store.Stage(ctx, f.Key); err != nil {
				t.Fatal(err)
			}
			f, err := b.store.PutFile(ctx, f)
			if err != nil || f.CreatedAt.IsZero() {
				t.Fatal(f, err)
			}
			if again, err := b.store.PutFile(ctx, f); err != nil || !again.CreatedAt.Equal(f.CreatedAt) {
				t.Errorf("sent twice: %+v, %v", again, err)
			}
			got, err := b.store.GetFile(ctx, "alice", f.ID)
			if err != nil || got != f {
				t.Errorf("got %+v, %v, want %+v", got, err, f)
			}
			files, want = append(files, f), append(want, f.ID)
		}
		b.pass(t, 1010*time.Millisecond)
		if _, err := b.store.SweepExpired(ctx, 100); err != nil {
			t.Fatal(err)
		}
		if got := b.garbage(t); len(got) != 0 {
			t.Errorf("garbage %v of files that are kept", got)
		}
		slices.Sort(want)
		var got []string
		for q := (jobs.ListQuery{Limit: 2}); ; q.After = got[len(got)-1] {
			page, more, err := b.store.ListFiles(ctx, "alice", q)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range page {
				got = append(got, f.ID)
			}
			if !more {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
		id := files[0].ID
		_, errGet := b.store.GetFile(ctx, "bob", id)
		_, errDelete := b.store.DeleteFile(ctx, "bob", id)
		list, _, errList := b.store.ListFiles(ctx, "bob", jobs.ListQuery{})
		if !errors.Is(errGet, jobs.ErrNotFound) || !errors.Is(errDelete, jobs.ErrNotFound) || errList != nil || len(list) != 0 {
			t.Errorf("bob: %v, %v, %v, %v", errGet, errDelete, list, errList)
		}
		if f, err := b.store.DeleteFile(ctx, "alice", id); err != nil || f != files[0] {
			t.Errorf("deleted %+v, %v", f, err)
		}
		if got := b.garbage(t); !slices.Equal(got, []string{files[0].Key}) {
			t.Errorf("garbage %v", got)
		}
		if _, err := b.store.GetFile(ctx, "alice", id); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("after the deletion: %v", err)
		}
	})
}

func TestCharacters(t *testing.T) {
	b := onRedis(t, jobs.Config{})
	ctx := t.Context()
	if err := b.store.Stage(ctx, "characters/1"); err != nil {
		t.Fatal(err)
	}
	c, err := b.store.PutCharacter(ctx, jobs.CharacterRecord{ID: jobs.NewCharacterID(time.Now()), Tenant: "alice", Name: "Mossy", Key: "characters/1"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.store.GetCharacter(ctx, "alice", c.ID); err != nil || got != c {
		t.Errorf("got %+v, %v, want %+v", got, err, c)
	}
	if _, err := b.store.GetCharacter(ctx, "bob", c.ID); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("bob: %v", err)
	}
	c.ID = "char_../x"
	if _, err := b.store.PutCharacter(ctx, c); !errors.Is(err, jobs.ErrInvalid) {
		t.Errorf("an id with a path: %v", err)
	}
}

// TestAGivenUpObjectGetsNoDocument because the janitor deletes it, now or soon: an upload that took longer than StagedTTL has to come again.
func TestAGivenUpObjectGetsNoDocument(t *testing.T) {
	each(t, jobs.Config{StagedTTL: time.Second}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		f := jobs.FileRecord{ID: jobs.NewFileID(time.Now()), Tenant: "alice", Filename: "a.png", Key: "files/late"}
		if err := b.store.Stage(ctx, f.Key); err != nil {
			t.Fatal(err)
		}
		b.pass(t, 1010*time.Millisecond)
		if _, err := b.store.SweepExpired(ctx, 100); err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.PutFile(ctx, f); !errors.Is(err, jobs.ErrUnstaged) {
			t.Errorf("put after the sweep: %v", err)
		}
		if list, _, err := b.store.ListFiles(ctx, "alice", jobs.ListQuery{}); err != nil || len(list) != 0 {
			t.Errorf("listed %v, %v", list, err)
		}
		if got := b.garbage(t); !slices.Equal(got, []string{f.Key}) {
			t.Errorf("garbage %v", got)
		}
	})
}

func TestRebuild(t *testing.T) {
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		now := b.clock(t).Truncate(time.Millisecond).UTC()
		s := spec("x")
		s.ImageKey = "inputs/1.png"
		m := jobs.RecordManifest{ID: jobs.NewID(now), Tenant: "alice", Attempt: 2, CreatedAt: now.Add(-3 * time.Minute), StartedAt: now.Add(-2 * time.Minute),
			CompletedAt: now.Add(-time.Minute), Spec: s, Result: result("videos/1")}
		for i := range 2 {
			if made, err := b.store.Rebuild(ctx, m); err != nil || made != (i == 0) {
				t.Fatalf("time %d: made %v, %v", i, made, err)
			}
		}
		want := jobs.Job{ID: m.ID, Tenant: "alice", State: jobs.StateCompleted, Attempt: 2, Revision: 1, Progress: 100, CreatedAt: m.CreatedAt, StartedAt: m.StartedAt,
			CompletedAt: m.CompletedAt, ExpiresAt: m.CompletedAt.Add(b.cfg.RetentionTTL), Spec: s, Result: &m.Result}
		if got := b.get(t, "alice", m.ID); !equalJSON(t, got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if list, _, err := b.store.List(ctx, "alice", jobs.ListQuery{}); err != nil || len(list) != 1 {
			t.Errorf("listed %v, %v", list, err)
		}
		if _, err := b.store.Delete(ctx, "alice", m.ID); err != nil {
			t.Fatal(err)
		}
		if got := b.garbage(t); len(got) != 5 {
			t.Errorf("garbage %v, want the result's four objects and the picture", got)
		}
		m.CompletedAt = now.Add(-b.cfg.RetentionTTL - time.Minute)
		if made, err := b.store.Rebuild(ctx, m); err != nil || made {
			t.Errorf("a job whose retention is over: made %v, %v", made, err)
		}
		m.ID = "video_x"
		if _, err := b.store.Rebuild(ctx, m); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("a bad manifest: %v", err)
		}
	})
}
