package streaming_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/streaming"
)

func TestCreateIsReadBackWhole(t *testing.T) {
	b := newBundle(t, streaming.Config{})
	b.idle("w1", 1)
	made := b.create(func(s *streaming.Spec) {
		s.Parameters, s.ImageKey, s.Seed = map[string]any{"detail": 2.0}, "inputs/a.png", 7
		s.ControlIdleTimeout, s.SessionTimeout = time.Second, time.Minute
	})
	got := b.get(made.ID)
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", made) {
		t.Errorf("made %+v\nread %+v", made, got)
	}
	if got.Status != streaming.StatusAssigned || got.Worker != "w1" || got.Position != 0 || got.Room != "tf-world-"+got.ID || got.Spec.Delivery != streaming.DeliveryLatest ||
		got.Epoch != 0 || got.Participants != nil || got.CreatedAt.IsZero() || !got.StartedAt.IsZero() || got.Spec.Parameters["detail"] != 2.0 {
		t.Errorf("read %+v", got)
	}
	if _, err := b.store.Get(t.Context(), "bob", made.ID); !errors.Is(err, streaming.ErrNotFound) {
		t.Errorf("another tenant reads it: %v", err)
	}
}

func TestCreateRefusesWhatBreaksTheRules(t *testing.T) {
	b := newBundle(t, streaming.Config{})
	b.idle("w1", 1)
	for name, spoil := range map[string]func(*streaming.CreateRequest){
		"tenant":   func(r *streaming.CreateRequest) { r.Tenant = "a b" },
		"id":       func(r *streaming.CreateRequest) { r.ID = "" },
		"room":     func(r *streaming.CreateRequest) { r.Room = "a/b" },
		"pipeline": func(r *streaming.CreateRequest) { r.Spec.Pipeline = "" },
		"odd size": func(r *streaming.CreateRequest) { r.Spec.Width = 17 },
		"fps":      func(r *streaming.CreateRequest) { r.Spec.FPS = 0 },
		"frames":   func(r *streaming.CreateRequest) { r.Spec.Frames = -1 },
		"delivery": func(r *streaming.CreateRequest) { r.Spec.Delivery = "best" },
		"lossless": func(r *streaming.CreateRequest) { r.Spec.Delivery = streaming.DeliveryLossless },
		"nobody":   func(r *streaming.CreateRequest) { r.Spec.Controller = "" },
		"timeout":  func(r *streaming.CreateRequest) { r.Spec.SessionTimeout = -1 },
		"huge":     func(r *streaming.CreateRequest) { r.Spec.Prompt = strings.Repeat("x", streaming.SpecBytesMax) },
	} {
		r := streaming.CreateRequest{Tenant: "alice", ID: "x", Spec: spec()}
		spoil(&r)
		if _, err := b.store.Create(t.Context(), r); !errors.Is(err, streaming.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if keys := b.keys(); len(keys) != 0 {
		t.Errorf("left behind: %v", keys)
	}
}

// TestAdmissionRace creates 100 sessions at once: as many as there are slots are assigned, as many as there are places wait, the rest is refused.
func TestAdmissionRace(t *testing.T) {
	const slots, places, all = 7, 20, 100
	b := newBundle(t, streaming.Config{QueueMax: places, SessionsPerTenantMax: all})
	b.idle("w1", 3)
	b.idle("w2", 4)
	var wg sync.WaitGroup
	var mu sync.Mutex
	counts, positions := map[string]int{}, map[int]int{}
	for i := range all {
		wg.Go(func() {
			s, err := b.store.Create(t.Context(), streaming.CreateRequest{Tenant: "alice", ID: fmt.Sprintf("r%d", i), Spec: spec()})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, streaming.ErrQueueFull):
				counts["full"]++
			case err != nil:
				t.Error(err)
			default:
				counts[string(s.Status)+" "+s.Worker]++
				positions[s.Position]++
			}
		})
	}
	wg.Wait()
	if counts["assigned w1"] != 3 || counts["assigned w2"] != 4 || counts["queued "] != places || counts["full"] != all-slots-places {
		t.Errorf("%v", counts)
	}
	for p := 1; p <= places; p++ {
		if positions[p] != 1 {
			t.Errorf("place %d was given %d times", p, positions[p])
		}
	}
	h := b.health()
	if h.WorkersTotal != 2 || h.WorkersBusy != 2 || h.WorkersIdle != 0 || h.SlotsBusy != slots || h.QueuedSessions != places || h.MediaConnected {
		t.Errorf("%+v", h)
	}
}

func TestLeastLoadedWorkerFirst(t *testing.T) {
	b := newBundle(t, streaming.Config{})
	b.idle("big", 4)
	b.idle("a", 1)
	b.idle("c", 2)
	var order []string
	for range 7 {
		order = append(order, b.create(nil).Worker)
	}
	if got := strings.Join(order, " "); got != "a big c big c big big" {
		t.Errorf("%s", got)
	}
}

func TestRefusals(t *testing.T) {
	b := newBundle(t, streaming.Config{SessionsPerTenantMax: 3, PipelineTTL: 50 * time.Millisecond, WorkerTTL: 5 * time.Second})
	if _, err := b.tryCreate(nil); !errors.Is(err, streaming.ErrNoCapacity) {
		t.Errorf("nobody serves the pipeline: %v", err)
	}
	b.idle("w", 1)
	first := b.create(nil)
	if s := b.create(nil); s.Status != streaming.StatusQueued || s.Position != 1 {
		t.Errorf("%+v", s)
	}
	b.create(nil)
	if _, err := b.tryCreate(nil); !errors.Is(err, streaming.ErrTenantLimit) {
		t.Errorf("a fourth session of three: %v", err)
	}
	r := streaming.CreateRequest{Tenant: "bob", ID: first.ID, Spec: spec()}
	if _, err := b.store.Create(t.Context(), r); !errors.Is(err, streaming.ErrExists) {
		t.Errorf("another's id: %v", err)
	}
	again, err := b.store.Create(t.Context(), streaming.CreateRequest{Tenant: "alice", ID: first.ID, Spec: spec()})
	if err != nil || again.Status != streaming.StatusAssigned || b.health().SlotsBusy != 1 {
		t.Errorf("the same request once more must be the same session: %+v %v", again, err)
	}
	off := newBundle(t, streaming.Config{QueueMax: -1})
	off.idle("w", 1)
	off.create(nil)
	if _, err := off.tryCreate(nil); !errors.Is(err, streaming.ErrNoIdleWorker) {
		t.Errorf("no queue: %v", err)
	}
}

func TestQueueIsFirstInFirstOut(t *testing.T) {
	b := newBundle(t, streaming.Config{})
	b.idle("w", 1)
	first, second, third := b.create(nil), b.create(nil), b.create(nil)
	if second.Position != 1 || third.Position != 2 {
		t.Fatalf("positions %d, %d", second.Position, third.Position)
	}
	c, err := b.store.Claim(t.Context(), "w")
	if err != nil || c.Session().ID != first.ID || c.Session().Epoch != 1 || c.Session().Status != streaming.StatusJoiningRoom || c.Session().ExpiresAt.IsZero() {
		t.Fatalf("%+v %v", c, err)
	}
	if more, err := b.store.Claim(t.Context(), "w"); more != nil || err != nil {
		t.Fatal("claimed beyond its slots", more, err)
	}
	if _, err := b.store.End(t.Context(), "alice", first.ID, streaming.ReasonDeleted); err != nil {
		t.Fatal(err)
	}
	if more, _ := b.store.Claim(t.Context(), "w"); more != nil {
		t.Fatal("the slot was not let go of yet")
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fourth := b.create(nil); fourth.Position != 3 {
		t.Errorf("a newcomer went before those who wait: %+v", fourth)
	}
	c, err = b.store.Claim(t.Context(), "w")
	if err != nil || c == nil || c.Session().ID != second.ID {
		t.Fatalf("%+v %v", c, err)
	}
	if p, err := b.store.Position(t.Context(), "alice", third.ID); p != 1 || err != nil {
		t.Errorf("position %d %v", p, err)
	}
}

func TestListPages(t *testing.T) {
	b := newBundle(t, streaming.Config{})
	b.idle("w", 1)
	for range 5 {
		b.create(nil)
	}
	page, more, err := b.store.List(t.Context(), streaming.ListRequest{Tenant: "alice", Limit: 2})
	if err != nil || !more || len(page) != 2 || page[0].ID != "s5" || page[1].ID != "s4" {
		t.Fatalf("%v %v %v", page, more, err)
	}
	page, more, err = b.store.List(t.Context(), streaming.ListRequest{After: "s4", Limit: 3})
	if err != nil || more || len(page) != 3 || page[2].ID != "s1" || page[0].Position != 2 {
		t.Fatalf("%v %v %v", page, more, err)
	}
	if page, _, err := b.store.List(t.Context(), streaming.ListRequest{Tenant: "bob"}); err != nil || len(page) != 0 {
		t.Fatalf("%v %v", page, err)
	}
	if _, _, err := b.store.List(t.Context(), streaming.ListRequest{Tenant: "alice", After: "s9"}); !errors.Is(err, streaming.ErrNotFound) {
		t.Fatal(err)
	}
	if _, _, err := b.store.List(t.Context(), streaming.ListRequest{Limit: 101}); !errors.Is(err, streaming.ErrInvalid) {
		t.Fatal(err)
	}
}
