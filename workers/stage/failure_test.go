package stage_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telefuser/workers/stage"
)

var errStage = errors.New("the stage's own error")

// failing makes the decode stage do something else with one sequence of session "bad".
func failing(j *journal, seq int64, run stage.RunFunc) stage.Spec {
	spec := worldSpec(j)
	good := spec.Stages[0].Run
	spec.Stages[0].Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) {
		if in.Session == "bad" && in.Sequence == seq {
			return run(ctx, in)
		}
		return good(ctx, in)
	}
	return spec
}

func TestStageErrorFailsItsSessionOnly(t *testing.T) {
	var panicked *stage.PanicError
	var artifact *stage.ArtifactError
	for name, c := range map[string]struct {
		run  stage.RunFunc
		want func(error) bool
	}{
		"error": {func(context.Context, stage.Invocation) (stage.Values, error) { return nil, errStage },
			func(err error) bool { return errors.Is(err, errStage) }},
		"panic": {func(context.Context, stage.Invocation) (stage.Values, error) { panic("boom") },
			func(err error) bool {
				return errors.As(err, &panicked) && panicked.Value == "boom" && len(panicked.Stack) > 0
			}},
		"nothing": {func(context.Context, stage.Invocation) (stage.Values, error) { return nil, nil },
			func(err error) bool { return errors.As(err, &artifact) }},
		"too much": {func(context.Context, stage.Invocation) (stage.Values, error) {
			return stage.Values{frames.Of("f"), frames.Of("f")}, nil
		}, func(err error) bool { return errors.As(err, &artifact) }},
		"another artifact": {func(context.Context, stage.Invocation) (stage.Values, error) {
			return stage.Values{latent.Of("l")}, nil
		},
			func(err error) bool { return errors.As(err, &artifact) }},
	} {
		t.Run(name, func(t *testing.T) {
			j := &journal{}
			s, stop := start(t, failing(j, 2, c.run), stage.Config{})
			bad, good := open(t, s, "bad", 1), open(t, s, "good", 1)
			feed(t, bad, 5)
			feed(t, good, 5)
			got, err := drain(t, bad)
			var failed *stage.StageError
			if !c.want(err) || !errors.As(err, &failed) || failed.Key.Stage != "decode" || failed.Key.Sequence != 2 {
				t.Errorf("bad ended with %v", err)
			}
			if !slices.Equal(got, []string{"ka!", "kb!"}) {
				t.Errorf("bad gave %q before its end", got)
			}
			if got, err := drain(t, good); err != nil || len(got) != 5 {
				t.Errorf("good gave %q, %v", got, err)
			}
			closed(t, bad)
			closed(t, good)
			clean(t, s)
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFailedSessionCleansUpByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		s, _ := start(t, failing(j, 0, func(context.Context, stage.Invocation) (stage.Values, error) { return nil, errStage }), stage.Config{})
		feed(t, open(t, s, "bad", 1), 3)
		synctest.Wait()
		if want := []string{"release decode bad", "release denoise bad", "release encode bad"}; !slices.Equal(j.list(), want) {
			t.Errorf("released %q", j.list())
		}
		closed(t, open(t, s, "bad", 2)) // nobody closed the first, and the name is free for the next epoch
		clean(t, s)
	})
}

func TestDeadActorFailsAll(t *testing.T) {
	for name, run := range map[string]stage.RunFunc{
		"fatal error": func(context.Context, stage.Invocation) (stage.Values, error) { return nil, stage.Fatal(errStage) },
		"goexit": func(context.Context, stage.Invocation) (stage.Values, error) {
			runtime.Goexit()
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, stop := start(t, failing(&journal{}, 1, run), stage.Config{})
			good, bad := open(t, s, "good", 1), open(t, s, "bad", 1)
			push(t, good, 0, request.Of(0))
			feed(t, bad, 5)
			if got, err := drain(t, bad); err == nil || len(got) > 1 {
				t.Errorf("bad gave %q, %v", got, err)
			}
			if _, err := drain(t, good); !errors.Is(err, stage.ErrActorDead) {
				t.Errorf("good ended with %v", err)
			}
			if _, err := s.Open("later", 1); !errors.Is(err, stage.ErrActorDead) {
				t.Errorf("open: %v", err)
			}
			if err := bad.Close(t.Context()); !errors.Is(err, stage.ErrPoisoned) { // its state died with the actor
				t.Errorf("close of bad: %v", err)
			}
			closed(t, good) // the dead stage kept nothing of it
			if err := stop(); !errors.Is(err, stage.ErrActorDead) {
				t.Errorf("run: %v", err)
			}
			if h := s.Health(); h["decode"] != stage.HealthFailed || h["encode"] != stage.HealthClosed {
				t.Errorf("health %v", h)
			}
		})
	}
}

func TestDeathDoesNotSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := failing(&journal{}, 0, func(context.Context, stage.Invocation) (stage.Values, error) {
			pause(1) // until denoise works for good and waits has its place in the mailbox
			return nil, stage.Fatal(errStage)
		})
		denoise := spec.Stages[1].Run
		spec.Stages[1].InFlightGlobal = 2
		spec.Stages[1].Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) {
			if in.Session == "good" {
				<-ctx.Done()
				return nil, context.Cause(ctx) // the death of decode
			}
			return denoise(ctx, in)
		}
		s, stop := start(t, spec, stage.Config{})
		bad, good, waits := open(t, s, "bad", 1), open(t, s, "good", 1), open(t, s, "waits", 1)
		push(t, good, 0, control.Of("k"))
		push(t, waits, 0, control.Of("k"))
		push(t, bad, 0, request.Of(0), control.Of("k"))
		push(t, good, 0, request.Of(0))
		push(t, waits, 0, request.Of(0))
		if _, err := waits.Next(t.Context()); !errors.Is(err, stage.ErrActorDead) || !errors.Is(err, errStage) {
			t.Errorf("next: %v", err)
		}
		closed(t, good)
		closed(t, waits) // denoise never began for it
		if err := bad.Close(t.Context()); !errors.Is(err, stage.ErrPoisoned) {
			t.Errorf("close of bad: %v", err)
		}
		if err := stop(); !errors.Is(err, errStage) {
			t.Errorf("run: %v", err)
		}
		if h := s.Health(); h["decode"] != stage.HealthFailed || h["denoise"] != stage.HealthClosed {
			t.Errorf("health %v", h)
		}
	})
}

// TestFailureIsToldAtOnce: a reader hears of a failure while another invocation of the session still runs.
func TestFailureIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := failing(&journal{}, 0, func(context.Context, stage.Invocation) (stage.Values, error) { return nil, errStage })
		denoise := spec.Stages[1].Run
		spec.Stages[1].Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) {
			pause(int(1 + in.Sequence)) // it is at work on the second when decode fails with the first
			return denoise(ctx, in)
		}
		s, _ := start(t, spec, stage.Config{})
		x := open(t, s, "bad", 1)
		began := time.Now()
		feed(t, x, 2)
		if _, err := x.Next(t.Context()); !errors.Is(err, errStage) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		closed(t, x)
	})
}

// TestDeadActorReleasesNothing: a session that comes to its clean-up after the death does not wait for the actor.
func TestDeadActorReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := failing(&journal{}, 0, func(context.Context, stage.Invocation) (stage.Values, error) {
			pause(1)
			return nil, stage.Fatal(errStage)
		})
		denoise := spec.Stages[1].Run
		spec.Stages[1].Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) {
			pause(int(3 * in.Sequence))
			return denoise(ctx, in)
		}
		s, _ := start(t, spec, stage.Config{})
		began := time.Now()
		good, bad := open(t, s, "good", 1), open(t, s, "bad", 1)
		push(t, good, 0, request.Of(0), control.Of("k"))
		if _, err := good.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		push(t, bad, 0, request.Of(0), control.Of("k"))
		synctest.Wait()
		push(t, good, 1, request.Of(0), control.Of("k")) // denoise works on it until 3 s, decode dies at 1 s
		synctest.Wait()
		err := good.Close(t.Context())
		if !errors.Is(err, stage.ErrActorDead) || errors.Is(err, stage.ErrDrain) || time.Since(began) != 3*time.Second {
			t.Errorf("close after %v: %v", time.Since(began), err)
		}
		_ = bad.Close(t.Context())
	})
}

func TestActorThatCannotStart(t *testing.T) {
	spec := worldSpec(&journal{})
	spec.Stages[1].Enter = func() (func(), error) { return nil, errStage }
	g, err := stage.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := stage.New(g, stage.Config{})
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, s, "s", 1)
	push(t, x, 0, request.Of(0), control.Of("k"))
	if err := s.Run(t.Context()); !errors.Is(err, stage.ErrActorDead) || !errors.Is(err, errStage) {
		t.Errorf("run: %v", err)
	}
	if _, err := x.Next(t.Context()); !errors.Is(err, stage.ErrActorDead) {
		t.Errorf("next: %v", err)
	}
	_ = x.Close(t.Context()) // whether encode or denoise had begun is a matter of timing
}

func TestEnterAndLeaveFrameTheActor(t *testing.T) {
	j := &journal{}
	spec := worldSpec(j)
	spec.Stages[0].Enter = func() (func(), error) {
		leave, err := stage.LockThread()
		if leave != nil || err != nil {
			t.Errorf("lock: %v", err)
		}
		j.add("enter")
		return func() { j.add("leave") }, nil
	}
	s, stop := start(t, spec, stage.Config{})
	x := open(t, s, "s", 1)
	feed(t, x, 1)
	if _, err := drain(t, x); err != nil {
		t.Fatal(err)
	}
	closed(t, x)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	got := j.list()
	if len(got) != 5 || got[0] != "enter" || got[4] != "leave" {
		t.Errorf("got %q", got)
	}
}

func TestRunEndStopsSessions(t *testing.T) {
	s, stop := start(t, worldSpec(&journal{}), stage.Config{})
	x := open(t, s, "s", 1)
	push(t, x, 0, request.Of(0), control.Of("k"))
	if _, err := x.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Next(t.Context()); !errors.Is(err, stage.ErrClosed) || errors.Is(err, io.EOF) {
		t.Errorf("next: %v", err)
	}
	closed(t, x)
	clean(t, s)
}
