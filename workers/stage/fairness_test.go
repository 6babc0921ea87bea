package stage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"telefuser/workers/stage"
)

// TestTurnsAreFair: while a session's input is ready and nothing of its own is in the way, every other session starts at most once. Sessions
// come with random loads and pauses to one stage that is always short.
func TestTurnsAreFair(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { fairRun(t, seed) })
	}
}

func fairRun(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	in, out := stage.NewArtifact[int]("in"), stage.NewArtifact[int]("out")
	const chunks = 12
	s, _ := start(t, stage.Spec{
		Stages: []stage.Stage{{ID: "work", Consumes: []stage.Port{in}, Produces: []stage.Port{out}, InFlightGlobal: 1 + rng.IntN(2),
			Run: stage.Map(in, out, func(_ context.Context, _ stage.Invocation, ms int) (int, error) {
				time.Sleep(time.Duration(ms) * time.Millisecond)
				return ms, nil
			})}},
		Edges:   []stage.Edge{{Artifact: in, Target: "work", CapacityPerSession: 1 + rng.IntN(3)}},
		Outputs: []stage.Output{{Artifact: out, CapacityPerSession: chunks}},
	}, stage.Config{})
	sessions := make([]*stage.Session, 2+rng.IntN(5))
	done := make(chan error, len(sessions))
	for i := range sessions {
		sessions[i] = open(t, s, fmt.Sprint(i), 1)
		busy, service, local := rng.IntN(2) == 0, 1+rng.IntN(20), rand.New(rand.NewPCG(seed, uint64(i)))
		go func() {
			var err error
			for seq := range int64(chunks) {
				if !busy {
					time.Sleep(time.Duration(local.IntN(40)) * time.Millisecond)
				}
				if err = sessions[i].Push(context.Background(), seq, in.Of(service)); err != nil {
					break
				}
			}
			done <- err
		}()
	}
	for range sessions {
		if err := <-done; err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	synctest.Wait()
	time.Sleep(time.Hour)
	for i, x := range sessions {
		for j, y := range sessions {
			if i != j {
				notOvertaken(t, seed, x, y)
			}
		}
		closed(t, x)
	}
}

// notOvertaken wants at most one start of y while an invocation of x waited for its turn.
func notOvertaken(t *testing.T, seed uint64, x, y *stage.Session) {
	t.Helper()
	mine, theirs := x.Facts().Invocations, y.Facts().Invocations
	if len(mine) != 12 {
		t.Fatalf("seed %d: %d of 12 done", seed, len(mine))
	}
	free := time.Time{} // the session's own invocation was over
	for _, m := range mine {
		from := m.InputsReadyAt
		if free.After(from) {
			from = free
		}
		starts := 0
		for _, o := range theirs {
			if o.AdmittedAt.After(from) && o.AdmittedAt.Before(m.AdmittedAt) {
				starts++
			}
		}
		if starts > 1 {
			t.Fatalf("seed %d: sequence %d of %s was overtaken %d times by %s", seed, m.Sequence, x.Key().Session, starts, y.Key().Session)
		}
		free = m.CompletedAt
	}
}
