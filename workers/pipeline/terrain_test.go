package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

func request(frames int) pipeline.Request {
	return pipeline.Request{Task: contract.TaskTextToVideo, Prompt: "islands in the morning", Width: 96, Height: 64, FPS: 16, Frames: frames, Seed: 5}
}

func open(t *testing.T, req pipeline.Request) pipeline.Session {
	t.Helper()
	p, err := pipeline.New("terrain")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return openOn(t, p, req)
}

func openOn(t *testing.T, p pipeline.Pipeline, req pipeline.Request) pipeline.Session {
	t.Helper()
	session, err := p.Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

func next(t *testing.T, session pipeline.Session) pipeline.Chunk {
	t.Helper()
	chunk, err := session.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return chunk
}

// drain takes all chunks of a bounded session.
func drain(t *testing.T, session pipeline.Session) (chunks []pipeline.Chunk, frames []media.Frame) {
	t.Helper()
	for {
		chunk, err := session.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return chunks, frames
		}
		if err != nil {
			t.Fatal(err)
		}
		chunks, frames = append(chunks, chunk), append(frames, chunk.Frames...)
	}
}

func TestChunksAreThirteenThenSixteen(t *testing.T) {
	t.Parallel()
	for frames, want := range map[int][]int{1: {1}, 13: {13}, 14: {13, 1}, 29: {13, 16}, 77: {13, 16, 16, 16, 16}, 64: {13, 16, 16, 16, 3}} {
		req := request(frames)
		req.FPS = 60 // so that it flies over less ground
		chunks, _ := drain(t, open(t, req))
		var got []int
		for i, chunk := range chunks {
			got = append(got, len(chunk.Frames))
			if chunk.Index != i || len(chunk.State) == 0 {
				t.Errorf("chunk %d has index %d and %d bytes of state", i, chunk.Index, len(chunk.State))
			}
			var names []string
			for _, stage := range chunk.Stages {
				names = append(names, stage.Name)
				if stage.DurationNS < 0 {
					t.Errorf("stage %s took %d ns", stage.Name, stage.DurationNS)
				}
			}
			if !reflect.DeepEqual(names, []string{"encode", "generate", "decode"}) {
				t.Errorf("stages %v", names)
			}
			if chunk.Stages[1].DurationNS == 0 {
				t.Error("generate took no time")
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d frames come as %v, want %v", frames, got, want)
		}
	}
}

func TestSameRequestSameBytes(t *testing.T) {
	t.Parallel()
	_, first := drain(t, open(t, request(20)))
	_, second := drain(t, open(t, request(20)))
	if !reflect.DeepEqual(first, second) {
		t.Fatal("two runs of one request differ")
	}
}

func TestContinuedFlightEqualsOneLongOne(t *testing.T) {
	t.Parallel()
	image := &media.Image{Width: 96, Height: 64, RGB: bytes.Repeat([]byte{180, 120, 60, 40, 90, 200}, 96*64/2)}
	script := &pipeline.Camera{Controls: []pipeline.TimedControl{{AtS: 0, Keys: "w"}, {AtS: 1, Keys: "wj"}, {AtS: 2, Keys: "k"}}}
	for name, change := range map[string]func(*pipeline.Request){
		"autopilot": func(*pipeline.Request) {},
		"script":    func(r *pipeline.Request) { r.Camera = script },
		"image":     func(r *pipeline.Request) { r.Image = image },
		"parameters": func(r *pipeline.Request) {
			r.Parameters = map[string]any{"altitude": 0.5, "speed": int64(3), "time_of_day": 18.0}
		},
		"style": func(r *pipeline.Request) { r.StylePrompt = "winter" },
		"rate":  func(r *pipeline.Request) { r.FPS = 24 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(36)
			change(&req)
			_, whole := drain(t, open(t, req))
			for _, split := range []int{6, 22} {
				part := req
				part.Frames = split
				chunks, first := drain(t, open(t, part))
				part.Frames, part.State = 36-split, chunks[len(chunks)-1].State
				part.Image, part.Parameters = nil, nil
				_, second := drain(t, open(t, part))
				if got := append(first, second...); !reflect.DeepEqual(got, whole) {
					t.Errorf("split at %d: the frames differ from those of one run", split)
				}
			}
		})
	}
}

func TestContinuedFlightKeepsItsWorld(t *testing.T) {
	t.Parallel()
	chunks, _ := drain(t, open(t, request(13)))
	state := chunks[0].State
	if len(state) > 16<<10 {
		t.Errorf("a state has %d bytes", len(state))
	}
	more := func(prompt string) media.Frame {
		req := request(1)
		req.Prompt, req.State, req.Seed = prompt, state, 77
		_, frames := drain(t, open(t, req))
		return frames[0]
	}
	same, night := more(request(1).Prompt), more("now night falls")
	y, _, _ := same.Planes()
	dark, _, _ := night.Planes()
	if sum(dark) > sum(y)*3/4 {
		t.Error("a new prompt does not change the look of a continued flight")
	}
	if plain := more("go on"); !bytes.Equal(plain.Data, same.Data) {
		t.Error("a prompt without a look changes the frames of a continued flight")
	}
}

func sum(plane []byte) (total int) {
	for _, v := range plane {
		total += int(v)
	}
	return total
}

func keys(id, set string) pipeline.Control { return pipeline.Control{ID: id, Keys: &set} }

func control(t *testing.T, session pipeline.Session, controls ...pipeline.Control) {
	t.Helper()
	for _, c := range controls {
		if err := session.Control(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLiveSessionStandsStillAndObeys(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	if chunk := next(t, session); chunk.Applied.Pose != (pipeline.Pose{}) || chunk.Applied.Keys != "" || len(chunk.Frames) != 13 {
		t.Fatalf("first chunk: %+v with %d frames", chunk.Applied, len(chunk.Frames))
	}
	control(t, session, keys("a", "w"))
	chunk := next(t, session)
	if chunk.Applied.Keys != "w" || !reflect.DeepEqual(chunk.Applied.ControlIDs, []string{"a"}) || math.Abs(chunk.Applied.Pose.Z-1.6) > 1e-9 {
		t.Fatalf("w: %+v", chunk.Applied)
	}
	if chunk = next(t, session); chunk.Applied.Keys != "w" || chunk.Applied.ControlIDs != nil || math.Abs(chunk.Applied.Pose.Z-3.2) > 1e-9 {
		t.Fatalf("held w: %+v", chunk.Applied)
	}
	control(t, session, pipeline.Control{ID: "r", Reset: true}, keys("n", ""))
	if chunk = next(t, session); chunk.Applied.Pose != (pipeline.Pose{}) || !reflect.DeepEqual(chunk.Applied.ControlIDs, []string{"r", "n"}) {
		t.Fatalf("reset: %+v", chunk.Applied)
	}
	pose := pipeline.Pose{X: 3, Z: 4, Yaw: 1}
	control(t, session, pipeline.Control{Pose: &pose})
	if chunk = next(t, session); chunk.Applied.Pose != pose {
		t.Fatalf("pose: %+v", chunk.Applied)
	}
}

func TestTapMovesExactlyOneChunk(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	next(t, session)
	control(t, session, keys("down", "w"), keys("up", ""))
	for i, want := range []struct {
		z   float64
		ids []string
	}{{1.6, []string{"down"}}, {1.6, []string{"up"}}, {1.6, nil}} {
		chunk := next(t, session)
		if math.Abs(chunk.Applied.Pose.Z-want.z) > 1e-9 || !reflect.DeepEqual(chunk.Applied.ControlIDs, want.ids) {
			t.Fatalf("chunk %d: %+v, want z %g and %v", i+1, chunk.Applied, want.z, want.ids)
		}
	}
}

func TestNewestControlWins(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	next(t, session)
	control(t, session, keys("1", "w"), keys("2", "d"), keys("3", "s"))
	if chunk := next(t, session); chunk.Applied.Keys != "s" || !reflect.DeepEqual(chunk.Applied.ControlIDs, []string{"3"}) {
		t.Fatalf("applied %+v", chunk.Applied)
	}
	if counted := session.(interface{ Overwritten() int64 }).Overwritten(); counted != 2 {
		t.Fatalf("%d controls counted as overwritten, want 2", counted)
	}
}

func TestReleasesReplaceEachOther(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	control(t, session, keys("1", "wd"), keys("2", "w"), keys("3", ""))
	for i, want := range []string{"wd", "", ""} {
		if chunk := next(t, session); chunk.Applied.Keys != want {
			t.Fatalf("chunk %d: keys %q, want %q", i, chunk.Applied.Keys, want)
		}
	}
	if counted := session.(interface{ Overwritten() int64 }).Overwritten(); counted != 1 {
		t.Fatalf("%d controls counted as overwritten, want 1", counted)
	}
	control(t, session, keys("4", "w"), keys("5", ""), keys("6", "l"))
	if chunk := next(t, session); chunk.Applied.Keys != "l" {
		t.Fatalf("keys %q, want l", chunk.Applied.Keys)
	}
	if counted := session.(interface{ Overwritten() int64 }).Overwritten(); counted != 3 {
		t.Fatalf("%d controls counted as overwritten, want 3", counted)
	}
}

func TestLivePromptChangesTheLook(t *testing.T) {
	t.Parallel()
	session := open(t, request(0))
	before := next(t, session)
	prompt := "night"
	control(t, session, pipeline.Control{ID: "p", Prompt: &prompt})
	after := next(t, session)
	y, _, _ := before.Frames[12].Planes()
	dark, _, _ := after.Frames[0].Planes()
	if sum(dark) > sum(y)*3/4 || !reflect.DeepEqual(after.Applied.ControlIDs, []string{"p"}) {
		t.Fatalf("luma %d, before %d, controls %v", sum(dark), sum(y), after.Applied.ControlIDs)
	}
}

func TestBadRequestsAreInvalid(t *testing.T) {
	t.Parallel()
	p, err := pipeline.New("terrain")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*pipeline.Request){
		"odd size":    func(r *pipeline.Request) { r.Width = 97 },
		"large":       func(r *pipeline.Request) { r.Width, r.Height = 1920, 1920 },
		"rate":        func(r *pipeline.Request) { r.FPS = 0 },
		"frames":      func(r *pipeline.Request) { r.Frames = -1 },
		"state":       func(r *pipeline.Request) { r.State = []byte("{") },
		"old state":   func(r *pipeline.Request) { r.State = []byte(`{"v":0}`) },
		"wild state":  func(r *pipeline.Request) { r.State = []byte(`{"v":1,"flight":{"pose":{"x":1e300}}}`) },
		"image":       func(r *pipeline.Request) { r.Image = &media.Image{Width: 9, Height: 9, RGB: []byte{1}} },
		"text speed":  func(r *pipeline.Request) { r.Parameters = map[string]any{"speed": "fast"} },
		"NaN hour":    func(r *pipeline.Request) { r.Parameters = map[string]any{"time_of_day": math.NaN()} },
		"hour":        func(r *pipeline.Request) { r.Parameters = map[string]any{"time_of_day": 25.0} },
		"great speed": func(r *pipeline.Request) { r.Parameters = map[string]any{"speed": 1e9} },
	} {
		req := request(13)
		change(&req)
		if _, err := p.Open(t.Context(), req); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	session := open(t, request(0))
	bad := "wx"
	for _, c := range []pipeline.Control{{Keys: &bad}, {Pose: &pipeline.Pose{X: math.Inf(1)}}, {Pose: &pipeline.Pose{Yaw: math.NaN()}}} {
		if err := session.Control(t.Context(), c); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("control %+v: %v", c, err)
		}
	}
	if err := open(t, request(13)).Control(t.Context(), keys("", "w")); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a bounded session takes controls: %v", err)
	}
}

func TestCancelledContextEndsAChunk(t *testing.T) {
	t.Parallel()
	session := open(t, request(13))
	cause := errors.New("stop")
	if _, err := session.Next(ended(t, cause)); !errors.Is(err, cause) {
		t.Fatalf("Next answers %v", err)
	}
}

// ended is a context that is over.
func ended(t *testing.T, cause error) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	return ctx
}

func TestRequestSurvivesJSON(t *testing.T) {
	t.Parallel()
	req := request(14)
	req.Seed = math.MaxInt64
	req.Parameters = map[string]any{"altitude": 2.0}
	data, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	var back pipeline.Request
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	_, want := drain(t, open(t, req))
	_, got := drain(t, open(t, back))
	if !reflect.DeepEqual(got, want) {
		t.Fatal("a request that went through JSON gives other frames")
	}
}
