package stage_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telefuser/workers/stage"
)

var in, out = stage.NewArtifact[int]("in"), stage.NewArtifact[int]("out")

// slow is one stage of a second for each invocation, which notes what it does.
func slow(j *journal, s stage.Stage) stage.Spec {
	s.ID, s.Consumes, s.Produces = "work", []stage.Port{in}, []stage.Port{out}
	s.Run = stage.Map(in, out, func(_ context.Context, inv stage.Invocation, v int) (int, error) {
		j.add(inv.Session + string(rune('0'+inv.Sequence)))
		time.Sleep(time.Second)
		return v, nil
	})
	return stage.Spec{
		Stages:  []stage.Stage{s},
		Edges:   []stage.Edge{{Artifact: in, Target: "work", CapacityPerSession: 8}},
		Outputs: []stage.Output{{Artifact: out, CapacityPerSession: 8}},
	}
}

func TestTurnsOutliveASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		s, _ := start(t, slow(j, stage.Stage{}), stage.Config{})
		var all []*stage.Session
		for _, id := range []string{"a", "b", "c", "d"} {
			all = append(all, open(t, s, id, 1))
		}
		for _, x := range all {
			for seq := range int64(3) {
				push(t, x, seq, in.Of(0))
			}
		}
		time.Sleep(1500 * time.Millisecond) // b works, so c is next
		closed(t, all[0])
		time.Sleep(4 * time.Second)
		if got, want := j.list(), []string{"a0", "b0", "c0", "d0", "b1", "c1"}; !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
		for _, x := range all[1:] {
			closed(t, x)
		}
	})
}

func TestUnorderedTakesWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		s, _ := start(t, slow(j, stage.Stage{Ordering: stage.Unordered}), stage.Config{})
		x := open(t, s, "x", 1)
		for _, seq := range []int64{2, 1, 0} {
			push(t, x, seq, in.Of(int(seq)))
			synctest.Wait()
		}
		for seq := range 3 { // outputs keep their order
			c, err := x.Next(t.Context())
			if v, _ := out.From(c.Values); err != nil || v != seq || c.Sequence != int64(seq) {
				t.Errorf("output %d is %d of %d, %v", seq, v, c.Sequence, err)
			}
		}
		if got, want := j.list(), []string{"x2", "x0", "x1"}; !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
		closed(t, x)
	})
}

func TestBoundsInFlight(t *testing.T) {
	for name, c := range map[string]struct {
		stage stage.Stage
		want  int // admitted at once, of three sequences in each of two sessions
	}{
		"defaults":        {stage.Stage{}, 1},
		"one per session": {stage.Stage{InFlightGlobal: 4}, 2},
		"two per session": {stage.Stage{InFlightGlobal: 4, InFlightPerSession: 2}, 4},
		"three in all":    {stage.Stage{InFlightGlobal: 3, InFlightPerSession: 2}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := start(t, slow(&journal{}, c.stage), stage.Config{})
				began := time.Now()
				a, b := open(t, s, "a", 1), open(t, s, "b", 1)
				for seq := range int64(3) {
					push(t, a, seq, in.Of(0))
					push(t, b, seq, in.Of(0))
				}
				time.Sleep(time.Minute)
				admitted := 0
				for _, f := range append(a.Facts().Invocations, b.Facts().Invocations...) {
					if f.AdmittedAt.Equal(began) {
						admitted++
					}
				}
				if admitted != c.want {
					t.Errorf("%d admitted at once, want %d", admitted, c.want)
				}
				closed(t, a)
				closed(t, b)
			})
		})
	}
}
