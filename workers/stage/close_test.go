package stage_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telefuser/workers/stage"
)

// stuck makes denoise ignore its context for as long as held is open.
func stuck(j *journal, held <-chan struct{}) stage.Spec {
	spec := worldSpec(j)
	spec.Stages[1].Run = stage.Join(condition, control, latent, func(context.Context, stage.Invocation, int, string) (string, error) {
		<-held
		return "late", nil
	})
	return spec
}

func TestCloseWaitsForWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		spec := worldSpec(j)
		spec.Stages[1].Run = func(ctx context.Context, _ stage.Invocation) (stage.Values, error) {
			<-ctx.Done()
			time.Sleep(3 * time.Second)
			j.add("denoise sees " + context.Cause(ctx).Error())
			return stage.Values{latent.Of("nobody's")}, nil
		}
		s, _ := start(t, spec, stage.Config{})
		x := open(t, s, "s", 1)
		push(t, x, 0, request.Of(0), control.Of("k"))
		synctest.Wait()
		began := time.Now()
		closed(t, x)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("close took %v", took)
		}
		want := []string{"denoise sees stage: closed", "release denoise s", "release encode s"} // decode had never worked for it
		if !slices.Equal(j.list(), want) {
			t.Errorf("got %q", j.list())
		}
		if _, err := x.Next(t.Context()); !errors.Is(err, stage.ErrClosed) {
			t.Errorf("next: %v", err)
		}
		clean(t, s)
	})
}

// goroutine is the number of the calling goroutine.
func goroutine() string {
	line := make([]byte, 64)
	return strings.Fields(string(line[:runtime.Stack(line, false)]))[1]
}

func TestEachStageHasOneGoroutine(t *testing.T) {
	j := &journal{}
	spec := worldSpec(j)
	for i := range spec.Stages {
		s := &spec.Stages[i]
		run := s.Run
		s.Enter = func() (func(), error) {
			j.add(s.ID + goroutine())
			return func() { j.add(s.ID + goroutine()) }, nil
		}
		s.Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) {
			j.add(s.ID + goroutine())
			return run(ctx, in)
		}
		s.Release = func(context.Context, stage.SessionKey) error {
			j.add(s.ID + goroutine())
			return nil
		}
	}
	s, stop := start(t, spec, stage.Config{})
	x := open(t, s, "s", 1)
	feed(t, x, 3)
	if _, err := drain(t, x); err != nil {
		t.Fatal(err)
	}
	closed(t, x)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	lines := j.list()
	if len(lines) != 18 {
		t.Errorf("%d calls: %q", len(lines), lines)
	}
	slices.Sort(lines)
	if places := slices.Compact(lines); len(places) != 3 {
		t.Errorf("calls on %q", places)
	}
}

func TestReleaseRunsOnTheOwningActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		spec := worldSpec(j)
		run := spec.Stages[0].Run
		spec.Stages[0].Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) {
			time.Sleep(time.Second)
			j.add("decode done for " + in.Session)
			return run(ctx, in)
		}
		s, _ := start(t, spec, stage.Config{})
		a, b := open(t, s, "a", 1), open(t, s, "b", 1)
		push(t, a, 0, request.Of(0), control.Of("k"))
		if _, err := a.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		push(t, b, 0, request.Of(0), control.Of("k"))
		synctest.Wait()
		closed(t, a) // decode works for b: the release waits for the actor
		if want := []string{"decode done for a", "decode done for b", "release decode a"}; !slices.Equal(j.list()[:3], want) {
			t.Errorf("got %q", j.list())
		}
		closed(t, b)
	})
}

func TestDrainTimeoutPoisons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		j := &journal{}
		s, stop := start(t, stuck(j, held), stage.Config{DrainTimeout: 2 * time.Second, PoisonedMax: 1})
		x, other := open(t, s, "s", 1), open(t, s, "other", 1)
		push(t, x, 0, request.Of(0), control.Of("k"))
		push(t, x, 1, request.Of(1))
		synctest.Wait()
		began := time.Now()
		err := x.Close(t.Context())
		if !errors.Is(err, stage.ErrPoisoned) || !errors.Is(err, stage.ErrDrain) || time.Since(began) != 2*time.Second {
			t.Errorf("close after %v: %v", time.Since(began), err)
		}
		// The invocation and the latent slot that it reserved.
		if got, want := s.Diagnostics(), (stage.Diagnostics{CleanupFailures: 1, SlotLeaks: 2}); got != want {
			t.Errorf("diagnostics %+v", got)
		}
		if _, err := s.Open("s", 2); !errors.Is(err, stage.ErrPoisoned) {
			t.Errorf("reuse: %v", err)
		}
		if _, err := s.Open("new", 1); !errors.Is(err, stage.ErrPoisoned) {
			t.Errorf("with as many poisoned as allowed: %v", err)
		}
		close(held)
		synctest.Wait()
		if got, want := s.Diagnostics(), (stage.Diagnostics{CleanupFailures: 1, SlotLeaks: 2, OrphanedResults: 1}); got != want {
			t.Errorf("after the late result %+v", got)
		}
		if want := []string{"release denoise s", "release encode s"}; !slices.Equal(j.list(), want) {
			t.Errorf("memory was not freed: %q", j.list())
		}
		push(t, other, 0, request.Of(0), control.Of("k")) // the stage's capacity came back
		if _, err := other.Next(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := s.Open("s", 3); !errors.Is(err, stage.ErrPoisoned) {
			t.Errorf("reuse after all: %v", err)
		}
		if again := x.Close(t.Context()); again.Error() != err.Error() {
			t.Errorf("second close: %v", again)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestReleaseFailurePoisons(t *testing.T) {
	for name, release := range map[string]stage.ReleaseFunc{
		"error": func(context.Context, stage.SessionKey) error { return errStage },
		"panic": func(context.Context, stage.SessionKey) error { panic(errStage) },
		"hangs": func(ctx context.Context, _ stage.SessionKey) error {
			<-ctx.Done()
			return errors.Join(errStage, ctx.Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				spec := worldSpec(j)
				spec.Stages[1].Release = release
				s, stop := start(t, spec, stage.Config{})
				x := open(t, s, "s", 1)
				feed(t, x, 1)
				if _, err := drain(t, x); err != nil {
					t.Fatal(err)
				}
				if err := x.Close(t.Context()); !errors.Is(err, stage.ErrPoisoned) {
					t.Errorf("close: %v", err)
				}
				synctest.Wait()
				if want := []string{"release decode s", "release encode s"}; !slices.Equal(j.list(), want) {
					t.Errorf("the others released %q", j.list())
				}
				if d := s.Diagnostics(); d.CleanupFailures != 1 || d.SlotLeaks != 0 {
					t.Errorf("diagnostics %+v", d)
				}
				if _, err := s.Open("s", 2); !errors.Is(err, stage.ErrPoisoned) {
					t.Errorf("reuse: %v", err)
				}
				if err := stop(); err != nil {
					t.Errorf("a release that fails is no dead actor: %v", err)
				}
			})
		})
	}
}

func TestSlotLeakIsFound(t *testing.T) {
	s := shut(t)
	x := open(t, s, "s", 1)
	x.LeakSlot()
	if err := x.Close(t.Context()); !errors.Is(err, stage.ErrSlotLeak) || !errors.Is(err, stage.ErrPoisoned) {
		t.Errorf("close: %v", err)
	}
	if got, want := s.Diagnostics(), (stage.Diagnostics{CleanupFailures: 1, SlotLeaks: 1}); got != want {
		t.Errorf("diagnostics %+v", got)
	}
}

func TestCapacityLeakIsFound(t *testing.T) {
	for groups, leaks := range map[int]int64{0: 1, 1: 2} {
		spec := slow(&journal{}, stage.Stage{})
		for range groups {
			spec.ResourceGroups = []stage.ResourceGroup{{Name: "gpu", MaxConcurrency: 1}}
		}
		s, stop := start(t, spec, stage.Config{})
		s.LeakCapacity()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := s.Diagnostics(); got != (stage.Diagnostics{SlotLeaks: leaks}) {
			t.Errorf("diagnostics %+v, want %d leaks", got, leaks)
		}
	}
}

func TestWhatWasCancelledDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		s, _ := start(t, slow(j, stage.Stage{InFlightGlobal: 2, Release: j.release("work")}), stage.Config{})
		a, b := open(t, s, "a", 1), open(t, s, "b", 1)
		push(t, a, 0, in.Of(0))
		push(t, b, 0, in.Of(0))
		synctest.Wait() // a works, b lies in the mailbox
		closed(t, b)
		closed(t, a)
		if want := []string{"a0", "release work a"}; !slices.Equal(j.list(), want) {
			t.Errorf("got %q", j.list())
		}
		clean(t, s)
	})
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		s, _ := start(t, stuck(&journal{}, held), stage.Config{})
		x := open(t, s, "s", 1)
		push(t, x, 0, request.Of(0), control.Of("k"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := x.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, stage.ErrPoisoned) {
			t.Errorf("close: %v", err)
		}
		close(held)
		closed(t, x)
		clean(t, s)
	})
}

func TestCancelDropsOutputsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, worldSpec(&journal{}), stage.Config{})
		x := open(t, s, "s", 1)
		feed(t, x, 2)
		synctest.Wait()
		x.Cancel(errStage)
		if _, err := x.Next(t.Context()); !errors.Is(err, errStage) {
			t.Errorf("next: %v", err)
		}
		closed(t, x)
		if _, err := x.Next(t.Context()); errors.Is(err, io.EOF) {
			t.Error("a cut session looks complete")
		}
		clean(t, s)
	})
}
