package jobs_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"telefuser/jobs"
)

// stateTable reads docs/states.md: for each event what follows in each state.
func stateTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]string{}
	states := []string{"missing", "queued", "in_progress", "completed", "failed"}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 7 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "event" {
			continue
		}
		row := map[string]string{}
		for i, s := range states {
			row[s] = strings.TrimSpace(cells[i+1])
		}
		table[strings.TrimSpace(cells[0])] = row
	}
	return table
}

// subject is a job brought into a state, with the claim of the attempt that last ran it.
type subject struct {
	*bundle
	id    string
	claim *jobs.Claim
	old   *jobs.Claim
}

// subjectIn makes a job that had one attempt before and is now in the state.
func subjectIn(t *testing.T, b *bundle, state string) subject {
	t.Helper()
	ctx := t.Context()
	job := b.create(t, "alice")
	s := subject{bundle: b, id: job.ID, old: b.claim(t, job.ID, 0)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := copyOf(s.old).Requeue(ctx, jobs.CauseDraining)
	must(err)
	s.claim = s.old
	switch state {
	case "queued":
	case "in_progress":
		s.claim = b.claim(t, job.ID, 1)
	case "completed":
		s.claim = b.claim(t, job.ID, 1)
		must(copyOf(s.claim).Complete(ctx, result("r")))
		s.claim = s.old
	case "failed":
		s.claim = b.claim(t, job.ID, 1)
		must(copyOf(s.claim).Fail(ctx, jobs.Failure{Code: jobs.CodeInternal, Message: "It broke."}))
		s.claim = s.old
	case "missing":
		_, err := b.store.Delete(ctx, "alice", job.ID)
		must(err)
	}
	if got := b.state(t, "alice", job.ID); got != state {
		t.Fatalf("prepared %s, want %s", got, state)
	}
	return s
}

// copyOf is the same attempt, not settled.
func copyOf(c *jobs.Claim) *jobs.Claim { return c.Again() }

// refusals are the errors of which one says "refused".
func refused(err error) bool {
	return errors.Is(err, jobs.ErrStale) || errors.Is(err, jobs.ErrNotFound) || errors.Is(err, jobs.ErrTerminal)
}

// events does what each row of the table names; its answer says whether it was refused.
func events() map[string]func(t *testing.T, s subject) error {
	ctx := context.Background()
	return map[string]func(t *testing.T, s subject) error{
		"create": func(_ *testing.T, s subject) error {
			_, _, err := s.store.Create(ctx, jobs.CreateRequest{Tenant: "alice", ID: s.id, Spec: spec("again")})
			return err
		},
		"claim": func(_ *testing.T, s subject) error {
			_, err := s.store.Claim(ctx, pipeline, "worker-2", s.id, 1)
			return err
		},
		"claim by an older ticket": func(_ *testing.T, s subject) error {
			_, err := s.store.Claim(ctx, pipeline, "worker-2", s.id, 0)
			return err
		},
		"progress": func(t *testing.T, s subject) error {
			s.claim.Progress(50, "generating")
			cause, err := s.store.Pulse(ctx, s.claim)
			if err != nil {
				t.Fatal(err)
			}
			if cause != nil {
				return errors.Join(cause, jobs.ErrStale)
			}
			return nil
		},
		"stage":                        func(_ *testing.T, s subject) error { return s.claim.StageKeys(ctx, "k") },
		"complete":                     func(_ *testing.T, s subject) error { return copyOf(s.claim).Complete(ctx, result("x")) },
		"complete by an older attempt": func(_ *testing.T, s subject) error { return copyOf(s.old).Complete(ctx, result("x")) },
		"fail": func(_ *testing.T, s subject) error {
			return copyOf(s.claim).Fail(ctx, jobs.Failure{Code: jobs.CodeStalled, Message: "It hung."})
		},
		"requeue": func(_ *testing.T, s subject) error {
			_, err := copyOf(s.claim).Requeue(ctx, jobs.CauseTransient)
			return err
		},
		"requeue over budget": func(_ *testing.T, s subject) error {
			if s.rdb.Exists(ctx, s.store.Key("j:"+s.id)).Val() == 1 {
				s.rdb.HSet(ctx, s.store.Key("j:"+s.id), "no", s.cfg.OOMMax)
			}
			_, err := copyOf(s.claim).Requeue(ctx, jobs.CauseOOM)
			return err
		},
		"lease over": func(t *testing.T, s subject) error {
			s.expireLease(t, s.id)
			s.reap(t)
			return nil
		},
		"lease over after too many deaths": func(t *testing.T, s subject) error {
			if n := s.rdb.Exists(ctx, s.store.Key("j:"+s.id)).Val(); n == 1 {
				s.rdb.HSet(ctx, s.store.Key("j:"+s.id), "nd", s.cfg.DeathsMax-1)
			}
			s.expireLease(t, s.id)
			s.reap(t)
			return nil
		},
		"queue timeout": func(t *testing.T, s subject) error {
			// The queue's score and the time of the last return are moved back, as if the job had waited.
			past := time.Now().Add(-2 * s.cfg.QueueTimeout).UnixMilli()
			if s.rdb.Exists(ctx, s.store.Key("j:"+s.id)).Val() == 1 {
				s.rdb.HSet(ctx, s.store.Key("j:"+s.id), "qa", past)
			}
			s.moveQueued(t, s.id, past)
			s.reap(t)
			return nil
		},
		"cancel": func(_ *testing.T, s subject) error { _, err := s.store.Cancel(ctx, "alice", s.id); return err },
		"delete": func(_ *testing.T, s subject) error { _, err := s.store.Delete(ctx, "alice", s.id); return err },
		"retention over": func(t *testing.T, s subject) error {
			// The end of the retention is moved back, as if it had been long ago; a job that has not ended has none.
			if s.rdb.HExists(ctx, s.store.Key("j:"+s.id), "exp").Val() {
				s.rdb.HSet(ctx, s.store.Key("j:"+s.id), "exp", 1)
			}
			s.rdb.ZAddXX(ctx, s.store.Key("expiry"), redis.Z{Score: 1, Member: s.id})
			if _, err := s.store.SweepExpired(ctx, 10); err != nil {
				t.Fatal(err)
			}
			return nil
		},
		"rebuild": func(t *testing.T, s subject) error {
			now := s.clock(t)
			_, err := s.store.Rebuild(ctx, jobs.RecordManifest{ID: s.id, Tenant: "alice", Attempt: 1, CreatedAt: now, CompletedAt: now, Spec: spec("x"), Result: result("x")})
			return err
		},
	}
}

func TestStates(t *testing.T) {
	table := stateTable(t)
	does := events()
	if len(table) != len(does) {
		t.Errorf("the table has %d events, the test %d", len(table), len(does))
	}
	each(t, jobs.Config{}, func(t *testing.T, b *bundle) {
		for event, row := range table {
			do, ok := does[event]
			if !ok {
				t.Errorf("no test for event %q", event)
				continue
			}
			for before, cell := range row {
				t.Run(event+" while "+before, func(t *testing.T) {
					own := setup(t, b.addr, jobs.Config{}) // no job of another cell may have its turn here
					own.mini = b.mini
					checkCell(t, own, before, cell, do)
				})
			}
		}
	})
}

func checkCell(t *testing.T, b *bundle, before, cell string, do func(*testing.T, subject) error) {
	s := subjectIn(t, b, before)
	var was jobs.Job
	if before != "missing" {
		was = b.get(t, "alice", s.id)
	}
	err := do(t, s)
	if want := cell == "refused"; refused(err) != want || (!want && err != nil) {
		t.Fatalf("answered %v; the table says %q", err, cell)
	}
	want := cell
	if cell == "refused" || cell == "stays" {
		want = before
	}
	if got := b.state(t, "alice", s.id); got != want {
		t.Fatalf("is %s, want %s", got, want)
	}
	if want == "missing" {
		return
	}
	is := b.get(t, "alice", s.id)
	if (cell == "refused" || cell == "stays") && is.Revision != was.Revision {
		t.Errorf("revision went from %d to %d, although nothing happened", was.Revision, is.Revision)
	}
	if before != "missing" && (is.Attempt < was.Attempt || is.Revision < was.Revision) {
		t.Errorf("attempt or revision fell: %+v, then %+v", was, is)
	}
	if (is.Progress == 100) != (is.State == jobs.StateCompleted) || (is.State == jobs.StateQueued && is.Progress != 0) {
		t.Errorf("progress %d while %s", is.Progress, is.State)
	}
	if (is.Failure != nil) != (is.State == jobs.StateFailed) || (is.Result != nil) != (is.State == jobs.StateCompleted) {
		t.Errorf("failure %v, result %v while %s", is.Failure, is.Result, is.State)
	}
	if is.State.Terminal() == is.ExpiresAt.IsZero() || is.State.Terminal() == is.CompletedAt.IsZero() {
		t.Errorf("expires %v, completed %v while %s", is.ExpiresAt, is.CompletedAt, is.State)
	}
}
