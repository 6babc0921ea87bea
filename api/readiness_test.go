package api_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telefuser/api"
	"telefuser/openapi"
)

// TestStartIsNoWarning: a program that still loads is not ready without alarm; one that was ready and is not any more raises it.
func TestStartIsNoWarning(t *testing.T) {
	var loaded atomic.Bool
	s := newStack(t, func(in *setup) {
		in.deps.Ready = func(context.Context) error {
			if !loaded.Load() {
				return errors.New("loading")
			}
			return nil
		}
	})
	status := func() int { return s.request(t, "GET", "/v1/service/ready", nil).status }
	if status() != 503 || strings.Contains(s.logs.String(), "WARN") || !strings.Contains(s.logs.String(), "not ready") {
		t.Errorf("while it loads: %s", s.logs)
	}
	loaded.Store(true)
	eventually(t, "it is ready", func() bool { return status() == 200 })
	loaded.Store(false)
	eventually(t, "it is not ready", func() bool { return status() == 503 })
	if !strings.Contains(s.logs.String(), `"level":"WARN","msg":"not ready"`) {
		t.Errorf("after it was ready: %s", s.logs)
	}
}

// TestReadinessNamesTheBrokenLinkInTime breaks one link after the other, by a refusal and by silence, at the worst moment: just after it was looked at.
func TestReadinessNamesTheBrokenLinkInTime(t *testing.T) {
	reasons := []openapi.ReadyReason{openapi.ReadyReasonRecords, openapi.ReadyReasonStorage, openapi.ReadyReasonProgram}
	synctest.Test(t, func(t *testing.T) {
		states := make([]atomic.Value, len(reasons))
		var links []api.Link
		for i, reason := range reasons {
			links = append(links, api.Link{Reason: reason, SlowMax: map[bool]time.Duration{true: api.SlowMax}[reason == openapi.ReadyReasonStorage], Look: func(ctx context.Context) error {
				switch states[i].Load() {
				case "silent":
					<-ctx.Done()
					return ctx.Err()
				case "down":
					return errors.New("refused")
				case "panics":
					panic("canary")
				}
				return nil
			}})
		}
		r := api.NewReadiness(slog.New(slog.DiscardHandler), links...)
		defer r.Close()
		until := func(want openapi.ReadyReason) time.Duration {
			begun := time.Now()
			for r.Reason(t.Context()) != want {
				time.Sleep(10 * time.Millisecond)
				if time.Since(begun) > time.Minute {
					t.Fatalf("never %q", want)
				}
			}
			return time.Since(begun)
		}
		until("")
		for i, reason := range reasons {
			for _, how := range []string{"down", "silent", "panics"} {
				time.Sleep(time.Minute)
				until("")
				states[i].Store(how)
				if took := until(reason); took > 2*time.Second {
					t.Errorf("%s %s: named after %s", reason, how, took)
				}
				states[i].Store("")
				if took := until(""); took > time.Second {
					t.Errorf("%s %s: ready again after %s", reason, how, took)
				}
			}
		}
		for i, how := range []string{"silent", "silent", "down"} {
			states[i].Store(how)
		}
		time.Sleep(time.Minute)
		if took := until(reasons[0]); took > 2*time.Second {
			t.Errorf("all of them: the first was named after %s", took)
		}
	})
}

// TestASlowStoreIsNotGone lets a store become slow, slower and silent. A probe asks four times a second, as probes do.
func TestASlowStoreIsNotGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64
		var refuses atomic.Bool
		r := api.NewReadiness(slog.New(slog.DiscardHandler), api.Link{Reason: openapi.ReadyReasonStorage, SlowMax: api.SlowMax, Look: func(ctx context.Context) error {
			select {
			case <-time.After(time.Duration(takes.Load())):
				if refuses.Load() {
					return errors.New("refused")
				}
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		defer r.Close()
		// probe asks for a while and answers how long it was not ready in all, how often that began, and when it last did.
		probe := func(during time.Duration) (unready time.Duration, flaps int, first time.Duration) {
			begun, was := time.Now(), true
			for time.Since(begun) < during {
				ready := r.Reason(t.Context()) == ""
				if !ready && was {
					if flaps++; flaps == 1 {
						first = time.Since(begun)
					}
				}
				was = ready
				time.Sleep(250 * time.Millisecond)
				if !ready {
					unready += 250 * time.Millisecond
				}
			}
			return unready, flaps, first
		}
		for _, step := range []struct {
			name         string
			takes        time.Duration
			flaps        int
			unready, max time.Duration
		}{
			{"fast", 10 * time.Millisecond, 0, 0, 0},
			{"as slow as may be", 1400 * time.Millisecond, 0, 0, 0},
			{"slow, of which it is known that it answers late", 2500 * time.Millisecond, 0, 0, 0},
			{"slower than could be expected", 7 * time.Second, 1, 0, 3 * time.Second},
			{"slower still, but within its bound", 9 * time.Second, 0, 0, 0},
			{"fast again", 10 * time.Millisecond, 0, 0, 0},
		} {
			takes.Store(int64(step.takes))
			unready, flaps, _ := probe(2 * time.Minute)
			if flaps != step.flaps || unready > step.max {
				t.Errorf("%s: not ready %d times, for %s", step.name, flaps, unready)
			}
		}
		takes.Store(int64(time.Hour))
		if _, flaps, first := probe(time.Minute); flaps != 1 || first > api.SlowMax+2*time.Second {
			t.Errorf("silent after it was slow: not ready %d times, first after %s", flaps, first)
		}
		takes.Store(int64(10 * time.Millisecond))
		probe(10 * time.Minute) // it has long been fast
		takes.Store(int64(time.Hour))
		if _, flaps, first := probe(time.Minute); flaps != 1 || first > 2*time.Second {
			t.Errorf("silent after it was fast: not ready %d times, first after %s", flaps, first)
		}
		takes.Store(int64(10 * time.Millisecond))
		probe(time.Minute)
		refuses.Store(true)
		if _, flaps, first := probe(time.Minute); flaps != 1 || first > time.Second {
			t.Errorf("refused: not ready %d times, first after %s", flaps, first)
		}
	})
}

// TestAMediaServerThatIsAway is broken where a server is there for live sessions, and only there.
func TestAMediaServerThatIsAway(t *testing.T) {
	for _, primary := range []bool{true, false} {
		var l live
		s := newStack(t, withSessions(t, &l), func(in *setup) { in.api.Stream.Primary = primary })
		l.work(t, 1, &liveEngine{})
		ready := func() (int, string) {
			r := s.request(t, "GET", "/v1/service/ready", nil)
			return r.status, string(r.body)
		}
		eventually(t, "it is ready", func() bool { status, _ := ready(); return status == 200 })
		l.rooms.mu.Lock()
		l.rooms.down = errors.New("away")
		l.rooms.mu.Unlock()
		if !primary {
			for begun := time.Now(); time.Since(begun) < time.Second; { // longer than one answer is good for
				ready()
			}
			if status, said := ready(); status != 200 {
				t.Errorf("a server of videos: %d %s", status, said)
			}
			continue
		}
		eventually(t, "it names the media server", func() bool {
			status, said := ready()
			return status == 503 && strings.Contains(said, `"reason":"media"`)
		})
		if h := s.request(t, "GET", "/health", nil); h.status != 200 {
			t.Errorf("it lives all the same: %d", h.status)
		}
		l.rooms.mu.Lock()
		l.rooms.down = nil
		l.rooms.mu.Unlock()
		eventually(t, "it is ready again", func() bool { status, _ := ready(); return status == 200 })
	}
}
