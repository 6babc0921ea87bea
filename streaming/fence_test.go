package streaming_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"telefuser/streaming"
)

// stateTable reads docs/sessions.md: for each event what follows in each state.
func stateTable(t *testing.T) (states []string, table map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../docs/sessions.md")
	if err != nil {
		t.Fatal(err)
	}
	table = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 6 || strings.HasPrefix(cells[0], "---") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "event" {
			states = cells[1:]
			continue
		}
		table[cells[0]] = cells[1:]
	}
	return states, table
}

// subject is a session brought into a state, with the claim of the epoch that last ran it.
type subject struct {
	*bundle
	id    string
	claim *streaming.Claim
}

// short are time-outs that are over when a test has waited for them.
func short() streaming.Config {
	return streaming.Config{LeaseTTL: 400 * time.Millisecond, RenewEvery: 100 * time.Millisecond, WorkerTTL: time.Minute, ReapEvery: 50 * time.Millisecond,
		ReassignTimeout: time.Minute}
}

func subjectIn(t *testing.T, state string) subject {
	t.Helper()
	b := newBundle(t, short())
	b.idle("w", 1)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := subject{bundle: b, id: b.create(nil).ID}
	claim := func() {
		t.Helper()
		c, err := b.store.Claim(ctx, "w")
		must(err)
		s.claim = c
	}
	claim()
	old := s.claim
	queued, err := old.HandOver(ctx, nil)
	must(err)
	must(old.Release(ctx))
	if !queued {
		t.Fatal("not handed over")
	}
	switch state {
	case "queued":
	case "starting":
		claim()
	case "running":
		claim()
		must(s.claim.Note(ctx, streaming.StatusRunning, nil, true))
	case "running, state kept":
		claim()
		must(s.claim.Note(ctx, streaming.StatusRunning, []byte("7"), true))
	case "ended":
		claim()
		must(s.claim.Close(ctx, streaming.ReasonFinished))
		s.claim = old
	default:
		t.Fatalf("no such state %q", state)
	}
	return s
}

// events does what each row of the table names; its answer says whether it was refused.
var events = map[string]func(t *testing.T, s subject) error{
	"the claim of a worker": func(t *testing.T, s subject) error {
		s.idle("w2", 1)
		c, err := s.store.Claim(t.Context(), "w2")
		if err == nil && c == nil {
			return streaming.ErrStale
		}
		return err
	},
	"a note of the owner": func(t *testing.T, s subject) error {
		return s.claim.Note(t.Context(), streaming.StatusRunning, []byte("8"), false)
	},
	"the owner closes": func(t *testing.T, s subject) error { return s.claim.Close(t.Context(), streaming.ReasonStopped) },
	"the owner hands over": func(t *testing.T, s subject) error {
		_, err := s.claim.HandOver(t.Context(), nil)
		return err
	},
	"the user ends it": func(t *testing.T, s subject) error {
		_, err := s.store.End(t.Context(), "alice", s.id, streaming.ReasonDeleted)
		return err
	},
	"the lease runs out": func(t *testing.T, s subject) error {
		before := s.get(s.id).UpdatedAt
		timer := time.After(500 * time.Millisecond)
		<-timer
		if err := s.store.Reap(t.Context(), nil); err != nil {
			return err
		}
		if s.get(s.id).UpdatedAt.Equal(before) {
			return streaming.ErrStale
		}
		return nil
	},
}

// phase is the table's word for a record.
func phase(s streaming.Session) string {
	switch {
	case s.Status.Terminal():
		return "ended: " + s.Reason
	case s.Status == streaming.StatusQueued:
		return "queued"
	case s.Status == streaming.StatusRunning && s.State != nil:
		return "running, state kept"
	case s.Status == streaming.StatusRunning:
		return "running"
	}
	return "starting"
}

// TestStateTable does every event in every state and compares with the documentation. A stale owner's writes leave no trace.
func TestStateTable(t *testing.T) {
	states, table := stateTable(t)
	if len(table) != len(events) || len(states) != 5 {
		t.Fatalf("the documentation has %d rows and %d states", len(table), len(states))
	}
	for event, act := range events {
		row := table[event]
		if row == nil {
			t.Errorf("the documentation does not know %q", event)
			continue
		}
		for i, state := range states {
			t.Run(event+" in "+state, func(t *testing.T) {
				t.Parallel()
				s := subjectIn(t, state)
				if s.claim == nil {
					// In the queue the owner is the one that lost it; its epoch is written down in the store only.
					s.claim = lostClaim(t, s)
				}
				before := s.get(s.id)
				err := act(t, s)
				after := s.get(s.id)
				if want := row[i]; want == "refused" || want == "nothing" {
					if want == "refused" && !errors.Is(err, streaming.ErrStale) {
						t.Errorf("not refused: %v", err)
					}
					if phase(before) != phase(after) || !slices.Equal(before.State, after.State) || before.Epoch != after.Epoch {
						t.Errorf("left a trace: %+v, was %+v", after, before)
					}
				} else if got := phase(after); err != nil || got != want {
					t.Errorf("%v, %s, want %s", err, got, want)
				}
			})
		}
	}
}

// lostClaim is the claim that the subject in the queue lost: claimed, handed over once more.
func lostClaim(t *testing.T, s subject) *streaming.Claim {
	t.Helper()
	c, err := s.store.Claim(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	if queued, err := c.HandOver(t.Context(), nil); err != nil || !queued {
		t.Fatal(queued, err)
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEpochFences(t *testing.T) {
	b := newBundle(t, short())
	b.idle("old", 1)
	s := b.create(nil)
	ctx := t.Context()
	frozen, err := b.store.Claim(ctx, "old")
	if err != nil {
		t.Fatal(err)
	}
	if queued, err := frozen.HandOver(ctx, nil); err != nil || !queued {
		t.Fatal(queued, err)
	}
	b.idle("new", 1)
	owner, err := b.store.Claim(ctx, "new")
	if err != nil || owner.Session().Epoch != 2 {
		t.Fatalf("%+v %v", owner, err)
	}
	if err := frozen.Note(ctx, streaming.StatusRunning, []byte("zombie"), true); !errors.Is(err, streaming.ErrStale) {
		t.Errorf("a note: %v", err)
	}
	if err := frozen.Close(ctx, streaming.ReasonStopped); !errors.Is(err, streaming.ErrStale) {
		t.Errorf("a close: %v", err)
	}
	gone, err := b.store.Heartbeat(ctx, streaming.Worker{ID: "old", Pipeline: "terrain", Status: streaming.WorkerReady, Slots: 1}, frozen)
	if err != nil || len(gone) != 1 || gone[0] != s.ID {
		t.Errorf("the heartbeat of a stale owner: %v %v", gone, err)
	}
	if gone, err := b.store.Heartbeat(ctx, streaming.Worker{ID: "new", Pipeline: "terrain", Status: streaming.WorkerReady, Slots: 1}, owner); err != nil || len(gone) != 0 {
		t.Errorf("the heartbeat of the owner: %v %v", gone, err)
	}
	if got := b.get(s.ID); got.Status != streaming.StatusJoiningRoom || got.State != nil || got.Worker != "new" {
		t.Errorf("%+v", got)
	}
	if err := frozen.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if h := b.health(); h.SlotsBusy != 1 {
		t.Errorf("a stale owner freed the new one's slot: %+v", h)
	}
}

// TestALateReleaseKeepsTheNewerEpochsSlot lets a worker claim a session again before its own older epoch has let go.
func TestALateReleaseKeepsTheNewerEpochsSlot(t *testing.T) {
	b := newBundle(t, short())
	b.idle("w", 2)
	b.create(nil)
	older, err := b.store.Claim(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	if queued, err := older.HandOver(t.Context(), nil); err != nil || !queued {
		t.Fatal(queued, err)
	}
	newer, err := b.store.Claim(t.Context(), "w")
	if err != nil || newer == nil || newer.Session().Epoch != 2 {
		t.Fatalf("%+v %v", newer, err)
	}
	if err := older.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := b.health(); h.SlotsBusy != 1 {
		t.Errorf("the newer epoch has no slot: %+v", h)
	}
	if err := newer.Close(t.Context(), streaming.ReasonStopped); err != nil {
		t.Fatal(err)
	}
	if err := newer.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := b.health(); h.SlotsBusy != 0 {
		t.Errorf("a slot leaked: %+v", h)
	}
}

func TestADrainingWorkerGivesBackWhatItHasNotClaimed(t *testing.T) {
	b := newBundle(t, short())
	b.idle("w", 1)
	s := b.create(nil)
	if _, err := b.store.Heartbeat(t.Context(), streaming.Worker{ID: "w", Pipeline: "terrain", Status: streaming.WorkerDraining, Slots: 1}); err != nil {
		t.Fatal(err)
	}
	if got := b.get(s.ID); got.Status != streaming.StatusQueued || got.Position != 1 || got.Worker != "" {
		t.Errorf("%+v", got)
	}
	b.idle("w", 1)
	if c, err := b.store.Claim(t.Context(), "w"); err != nil || c == nil {
		t.Fatal(err)
	}
	if err := b.store.Leave(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if h := b.health(); h.WorkersTotal != 0 || h.SlotsBusy != 0 {
		t.Errorf("%+v", h)
	}
}
