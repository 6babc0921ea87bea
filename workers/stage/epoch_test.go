package stage_test

import (
	"context"
	"testing"
	"testing/synctest"

	"telefuser/workers/stage"
)

// TestOldAndForeignResultsAreDropped sends results that no actor of this process would, as a stage that works elsewhere could.
func TestOldAndForeignResultsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []stage.Key
		spec := worldSpec(&journal{})
		spec.Stages[2].Run = stage.Map(request, condition, func(_ context.Context, in stage.Invocation, r int) (int, error) {
			keys = append(keys, in.Key)
			return r, nil
		})
		s, _ := start(t, spec, stage.Config{})
		old := open(t, s, "s", 1)
		push(t, old, 0, request.Of(0))
		synctest.Wait()
		closed(t, old)
		x := open(t, s, "s", 2)
		push(t, x, 0, request.Of(1))
		synctest.Wait()

		want := stage.Diagnostics{}
		deliver := func(key stage.Key, counter *int64) {
			t.Helper()
			*counter++
			s.Deliver(key, stage.Values{condition.Of(9)})
			if got := s.Diagnostics(); got != want {
				t.Errorf("%+v: diagnostics %+v, want %+v", key, got, want)
			}
		}
		stale := keys[0]
		stale.ID = 99
		deliver(stale, &want.StaleEpochResults)
		deliver(keys[1], &want.DuplicateResults)
		deliver(keys[0], &want.DuplicateResults)
		unknown := keys[1]
		unknown.ID = 98
		deliver(unknown, &want.OrphanedResults)
		unknown.Session = "nobody"
		deliver(unknown, &want.OrphanedResults)

		push(t, x, 0, control.Of("k"))
		if c, err := x.Next(t.Context()); err != nil {
			t.Error(err)
		} else if f, _ := frames.From(c.Values); f != "kb!" {
			t.Errorf("a dropped result got through: %q", f)
		}
		closed(t, x)
		deliver(stage.Key{SessionKey: stage.SessionKey{Session: "s", Epoch: 1}, ID: 97}, &want.StaleEpochResults)
	})
}

func TestMemoryOfResultsIsBounded(t *testing.T) {
	var first stage.Key
	spec := worldSpec(&journal{})
	run := spec.Stages[2].Run
	spec.Stages[2].Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) {
		if in.Sequence == 0 {
			first = in.Key
		}
		return run(ctx, in)
	}
	s, _ := start(t, spec, stage.Config{})
	x := open(t, s, "s", 1)
	feed(t, x, stage.KeysRemembered)
	if _, err := drain(t, x); err != nil {
		t.Fatal(err)
	}
	if results, _ := s.Remembered(); results != stage.KeysRemembered {
		t.Errorf("%d results remembered", results)
	}
	s.Deliver(first, nil) // forgotten as a duplicate, but still nobody's
	if got := s.Diagnostics(); got != (stage.Diagnostics{OrphanedResults: 1}) {
		t.Errorf("diagnostics %+v", got)
	}
	closed(t, x)
}
