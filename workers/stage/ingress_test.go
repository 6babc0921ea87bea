package stage_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"telefuser/workers/stage"
)

// shut is a scheduler that does not run: what is pushed stays where it is.
func shut(t *testing.T) *stage.Scheduler {
	t.Helper()
	g, err := stage.Build(worldSpec(&journal{}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := stage.New(g, stage.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func try(t *testing.T, x *stage.Session, want bool, seq int64, values ...stage.Value) {
	t.Helper()
	if ok, err := x.TryPush(seq, values...); err != nil || ok != want {
		t.Errorf("push of %d: %v, %v; want %v", seq, ok, err, want)
	}
}

func TestTryPushIsAtomic(t *testing.T) {
	s := shut(t)
	x := open(t, s, "s", 1)
	defer closed(t, x)
	try(t, x, true, 0, control.Of("w"))
	try(t, x, true, 1, control.Of("w"))
	try(t, x, false, 2, request.Of(0), control.Of("w")) // control has no room, so request may not go in
	if got := x.Credits(request); got != 2 {
		t.Errorf("a refused push took a slot: %d credits", got)
	}
	try(t, x, false, 2, request.Of(2)) // beyond the window, though two slots are free
	try(t, x, true, 1, request.Of(1))  // any order within it
	try(t, x, true, 0, request.Of(0))
	if got := [2]int{x.Credits(request), x.Credits(control)}; got != [2]int{} {
		t.Errorf("credits %v", got)
	}
	if got := x.Credits(latent); got != 0 {
		t.Errorf("%d credits for an inner artifact", got)
	}
}

func TestPushRefuses(t *testing.T) {
	s := shut(t)
	x := open(t, s, "s", 1)
	defer closed(t, x)
	if err := x.FinishInputs(2); err != nil {
		t.Fatal(err)
	}
	try(t, x, true, 0, control.Of("w"))
	var artifact *stage.ArtifactError
	for name, c := range map[string]struct {
		seq    int64
		values []stage.Value
		want   func(error) bool
	}{
		"negative":         {-1, []stage.Value{request.Of(0)}, func(err error) bool { return errors.Is(err, stage.ErrSequence) }},
		"beyond the final": {2, []stage.Value{request.Of(0)}, func(err error) bool { return errors.Is(err, stage.ErrSequence) }},
		"repeated":         {0, []stage.Value{request.Of(0), control.Of("w")}, func(err error) bool { return errors.Is(err, stage.ErrRepeated) }},
		"twice in one":     {1, []stage.Value{request.Of(0), request.Of(0)}, func(err error) bool { return errors.Is(err, stage.ErrRepeated) }},
		"nothing":          {1, nil, func(err error) bool { return errors.As(err, &artifact) }},
		"zero value":       {1, []stage.Value{{}}, func(err error) bool { return errors.As(err, &artifact) }},
		"inner artifact":   {1, []stage.Value{latent.Of("l")}, func(err error) bool { return errors.As(err, &artifact) }},
		"another type":     {1, []stage.Value{stage.NewArtifact[int]("control").Of(1)}, func(err error) bool { return errors.As(err, &artifact) }},
	} {
		if ok, err := x.TryPush(c.seq, c.values...); ok || !c.want(err) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	if got := [2]int{x.Credits(request), x.Credits(control)}; got != [2]int{2, 1} {
		t.Errorf("refused pushes took slots: credits %v", got)
	}
}

func TestRepeatedAfterItWasConsumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, worldSpec(&journal{}), stage.Config{})
		x := open(t, s, "s", 1)
		push(t, x, 0, request.Of(0))
		synctest.Wait()
		if _, err := x.TryPush(0, request.Of(0)); !errors.Is(err, stage.ErrRepeated) {
			t.Errorf("got %v", err)
		}
		closed(t, x)
	})
}

func TestPushWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, worldSpec(&journal{}), stage.Config{})
		x := open(t, s, "s", 1)
		pushed := make(chan error, 8)
		go func() {
			for i := range int64(8) {
				pushed <- x.Push(t.Context(), i, request.Of(0), control.Of("k"))
			}
		}()
		synctest.Wait()
		// Two wait as outputs, two on each of the latent and the external edges; everything behind is refused.
		if got := len(pushed); got != 6 {
			t.Errorf("%d sequences fit, want 6", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := x.Push(ctx, 7, control.Of("k")); !errors.Is(err, context.Canceled) {
			t.Errorf("a push that waits: %v", err)
		}
		for range 8 {
			if _, err := x.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := len(pushed); got != 8 {
			t.Errorf("%d pushes done, want 8", got)
		}
		closed(t, x)
	})
}

func TestFinishInputs(t *testing.T) {
	for name, c := range map[string]struct {
		pushed []int64
		counts []int64
		bad    bool
	}{
		"empty":                   {nil, []int64{0}, false},
		"before the final":        {[]int64{0, 1}, []int64{3}, false},
		"same again":              {[]int64{0}, []int64{3, 3}, false},
		"after the final":         {[]int64{0, 1}, []int64{2}, true},
		"below what was pushed":   {[]int64{0, 1}, []int64{1}, true},
		"empty after something":   {[]int64{0}, []int64{0}, true},
		"another count":           {nil, []int64{3, 4}, true},
		"less than nothing":       {nil, []int64{-2}, true},
		"unknown is not a number": {nil, []int64{-1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, shut(t), "s", 1)
			defer closed(t, x)
			for _, seq := range c.pushed {
				try(t, x, true, seq, control.Of("w"))
			}
			var err error
			for _, n := range c.counts {
				err = errors.Join(err, x.FinishInputs(n))
			}
			if errors.Is(err, stage.ErrSequence) != c.bad || (err == nil) == c.bad {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestStoppedSessionTakesNothing(t *testing.T) {
	x := open(t, shut(t), "s", 1)
	why := errors.New("the user left")
	x.Cancel(why)
	x.Cancel(errors.New("later"))
	if _, err := x.TryPush(0, request.Of(0)); !errors.Is(err, why) {
		t.Errorf("push: %v", err)
	}
	if err := x.FinishInputs(1); !errors.Is(err, why) {
		t.Errorf("finish: %v", err)
	}
	if _, err := x.Next(t.Context()); !errors.Is(err, why) {
		t.Errorf("next: %v", err)
	}
	if x.Credits(request) != 0 {
		t.Error("credits for a stopped session")
	}
	closed(t, x)
}
