package stage_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"telefuser/workers/stage"
)

// The graph of a world model: condition and control make a latent, the latent makes frames.
var (
	request   = stage.NewArtifact[int]("encode_request")
	condition = stage.NewArtifact[int]("condition")
	control   = stage.NewArtifact[string]("control")
	latent    = stage.NewArtifact[string]("latent")
	frames    = stage.NewArtifact[string]("frames")
)

// journal is what stages did, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) list() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

func (j *journal) release(name string) stage.ReleaseFunc {
	return func(_ context.Context, key stage.SessionKey) error {
		j.add("release " + name + " " + key.Session)
		return nil
	}
}

// worldSpec is the graph with capacities of two; tests change what they need.
func worldSpec(j *journal) stage.Spec {
	return stage.Spec{
		Stages: []stage.Stage{
			{ID: "decode", Consumes: []stage.Port{latent}, Produces: []stage.Port{frames}, Release: j.release("decode"),
				Run: stage.Map(latent, frames, func(_ context.Context, _ stage.Invocation, l string) (string, error) { return l + "!", nil })},
			{ID: "denoise", Consumes: []stage.Port{condition, control}, Produces: []stage.Port{latent}, Release: j.release("denoise"),
				Run: stage.Join(condition, control, latent, func(_ context.Context, _ stage.Invocation, c int, k string) (string, error) {
					return k + string(rune('a'+c)), nil
				})},
			{ID: "encode", Consumes: []stage.Port{request}, Produces: []stage.Port{condition}, Release: j.release("encode"),
				Run: stage.Map(request, condition, func(_ context.Context, _ stage.Invocation, r int) (int, error) { return r, nil })},
		},
		Edges: []stage.Edge{
			{Artifact: request, Target: "encode", CapacityPerSession: 2},
			{Artifact: condition, Source: "encode", Target: "denoise", CapacityPerSession: 2},
			{Artifact: control, Target: "denoise", CapacityPerSession: 2},
			{Artifact: latent, Source: "denoise", Target: "decode", CapacityPerSession: 2},
		},
		Outputs:       []stage.Output{{Artifact: frames, CapacityPerSession: 2}},
		LatencyAnchor: control,
	}
}

// start builds and runs a scheduler; stop ends it and gives Run's error.
func start(t *testing.T, spec stage.Spec, cfg stage.Config) (s *stage.Scheduler, stop func() error) {
	t.Helper()
	g, err := stage.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err = stage.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return s, stop
}

func open(t *testing.T, s *stage.Scheduler, id string, epoch int64) *stage.Session {
	t.Helper()
	x, err := s.Open(id, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func push(t *testing.T, x *stage.Session, seq int64, values ...stage.Value) {
	t.Helper()
	if err := x.Push(t.Context(), seq, values...); err != nil {
		t.Fatal(err)
	}
}

// closed closes and wants a clean end.
func closed(t *testing.T, x *stage.Session) {
	t.Helper()
	if err := x.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// drain reads to the end and gives the frames with the error that ended them; io.EOF is nil.
func drain(t *testing.T, x *stage.Session) ([]string, error) {
	t.Helper()
	var got []string
	for {
		c, err := x.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		if c.Sequence != int64(len(got)) {
			t.Fatalf("chunk %d came as number %d", c.Sequence, len(got))
		}
		f, ok := frames.From(c.Values)
		if !ok {
			t.Fatalf("chunk %d has no frames", c.Sequence)
		}
		got = append(got, f)
	}
}

// feed pushes n whole sequences from a goroutine of its own, the final one told in time, and stops when the session does.
func feed(t *testing.T, x *stage.Session, n int) {
	t.Helper()
	if err := x.FinishInputs(int64(n)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			if x.Push(context.Background(), int64(i), request.Of(i), control.Of("k")) != nil {
				return // the session has stopped: its reader knows
			}
		}
	}()
	t.Cleanup(func() {
		x.Cancel(nil)
		<-done
	})
}

func clean(t *testing.T, s *stage.Scheduler) {
	t.Helper()
	if d := s.Diagnostics(); d != (stage.Diagnostics{}) {
		t.Errorf("diagnostics: %+v", d)
	}
}

func TestSessionFlowsToItsEnd(t *testing.T) {
	j := &journal{}
	s, stop := start(t, worldSpec(j), stage.Config{})
	x := open(t, s, "s", 1)
	feed(t, x, 5)
	got, err := drain(t, x)
	if want := []string{"ka!", "kb!", "kc!", "kd!", "ke!"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	closed(t, x)
	if _, err := x.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if want := []string{"release decode s", "release denoise s", "release encode s"}; !slices.Equal(j.list(), want) {
		t.Errorf("released %q, want %q", j.list(), want)
	}
	clean(t, s)
	for id, h := range s.Health() {
		if h != stage.HealthRunning {
			t.Errorf("%s is %v", id, h)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	for id, h := range s.Health() {
		if h.String() != "closed" {
			t.Errorf("%s is %v after Run", id, h)
		}
	}
	if _, err := s.Open("t", 1); !errors.Is(err, stage.ErrClosed) {
		t.Errorf("open after Run: %v", err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, stage.ErrClosed) {
		t.Errorf("second Run: %v", err)
	}
}

func TestFinalIsTold(t *testing.T) {
	var finals journal
	spec := worldSpec(&journal{})
	spec.Stages[2].Run = stage.Map(request, condition, func(_ context.Context, inv stage.Invocation, r int) (int, error) {
		if inv.Final {
			finals.add(string(rune('0' + inv.Sequence)))
		}
		return r, nil
	})
	s, _ := start(t, spec, stage.Config{})
	x := open(t, s, "s", 1)
	feed(t, x, 3)
	if _, err := drain(t, x); err != nil {
		t.Fatal(err)
	}
	if got := finals.list(); !slices.Equal(got, []string{"2"}) {
		t.Errorf("final sequences %q", got)
	}
	closed(t, x)
}
