package pipeline_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
	"telefuser/workers/stage"
)

// TestTinyWorldIsItsModel loads tiny-world with weights from a seed: the true shapes, and pictures that mean nothing.
func TestTinyWorldIsItsModel(t *testing.T) {
	t.Parallel()
	tinyMakesWhatTheModelMakes(t, loaded(t, func(o pipeline.Options) (pipeline.Pipeline, error) { return pipeline.NewOn("tiny-world", o) }))
}

// loaded loads a pipeline with weights from a seed, and holds it to its reports.
func loaded(t *testing.T, make func(pipeline.Options) (pipeline.Pipeline, error)) pipeline.Pipeline {
	t.Helper()
	p, err := make(pipeline.Options{Weights: "random:3"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	var shares []float64
	if err := p.Load(t.Context(), func(share float64) { shares = append(shares, share) }); err != nil {
		t.Fatal(err)
	}
	if len(shares) < 2 || shares[len(shares)-1] != 1 {
		t.Errorf("loading reports %v", shares)
	}
	return p
}

func tinyRequest(frames int) pipeline.Request {
	return pipeline.Request{Task: contract.TaskTextToVideo, Prompt: "a desert of red dunes", Width: 64, Height: 64, FPS: 16, Frames: frames, Seed: 5}
}

// TestTinyWorld goes through everything that a session promises on one loaded model of tiny-world's structure and less than its size.
func TestTinyWorld(t *testing.T) {
	t.Parallel()
	p := loaded(t, pipeline.NewSmallTable)
	t.Run("bounded", func(t *testing.T) { tinyBounded(t, p) })
	t.Run("live", func(t *testing.T) { tinyLive(t, p) })
	t.Run("goes on", func(t *testing.T) { tinyGoesOn(t, p) })
	t.Run("refuses", func(t *testing.T) { tinyRefuses(t, p) })
}

func tinyBounded(t *testing.T, p pipeline.Pipeline) {
	chunks, frames := drain(t, openOn(t, p, tinyRequest(33)))
	if len(chunks) != 3 || len(chunks[0].Frames) != 13 || len(chunks[1].Frames) != 16 || len(frames) != 33 {
		t.Fatalf("%d chunks, %d frames", len(chunks), len(frames))
	}
	for i, c := range chunks {
		var names []string
		for _, s := range c.Stages {
			names = append(names, s.Name)
			if s.DurationNS < 0 || s.Name == "denoise" && s.DurationNS == 0 {
				t.Errorf("chunk %d: %+v", i, s)
			}
		}
		if !reflect.DeepEqual(names, []string{"encode", "denoise", "decode"}) {
			t.Errorf("stages %v", names)
		}
		if c.Index != i || c.Timing == nil || c.Timing.ControlToOutputNS == nil || c.Timing.ResidenceNS <= 0 || c.Timing.Diagnostics != (stage.Diagnostics{}) {
			t.Errorf("chunk %d: index %d, %+v", i, c.Index, c.Timing)
		}
		if len(c.State) == 0 || len(c.State) > 256<<10 {
			t.Errorf("chunk %d has a state of %d bytes", i, len(c.State))
		}
	}
	if _, again := drain(t, openOn(t, p, tinyRequest(13))); !reflect.DeepEqual(frames[:13], again) {
		t.Error("the same request gives other frames")
	}
	// Two sessions in turn: each has the frames that it has alone.
	apart := tinyRequest(29)
	apart.Seed = 6
	a, b := openOn(t, p, tinyRequest(29)), openOn(t, p, apart)
	var mine, others []media.Frame
	for range 2 {
		mine, others = append(mine, next(t, a).Frames...), append(others, next(t, b).Frames...)
	}
	if !reflect.DeepEqual(mine, frames[:29]) || bytes.Equal(others[20].Data, frames[20].Data) {
		t.Error("a session has other frames beside another one than alone")
	}
	other := tinyRequest(13)
	other.Image = &media.Image{Width: 320, Height: 192, RGB: bytes.Repeat([]byte{200, 40, 90}, 320*192)}
	if _, red := drain(t, openOn(t, p, other)); bytes.Equal(red[0].Data, frames[0].Data) {
		t.Error("a reference picture changes nothing")
	}
}

func tinyLive(t *testing.T, p pipeline.Pipeline) {
	session := openOn(t, p, tinyRequest(0))
	control(t, session, keys("a", "wl"))
	c := next(t, session)
	if len(c.Frames) != 13 || c.Applied.Keys != "wl" || !reflect.DeepEqual(c.Applied.ControlIDs, []string{"a"}) || math.Abs(c.Applied.Pose.Yaw-12*math.Pi/180) > 1e-9 {
		t.Errorf("first chunk: %d frames, %+v", len(c.Frames), c.Applied)
	}
	control(t, session, keys("b", "k"))
	if c = next(t, session); len(c.Frames) != 16 || c.Applied.Keys != "k" || math.Abs(c.Applied.Pose.Pitch+8*math.Pi/180) > 1e-9 {
		t.Errorf("second chunk: %d frames, %+v", len(c.Frames), c.Applied)
	}
	night := "night"
	control(t, session, pipeline.Control{ID: "c", Reset: true, Prompt: &night}, keys("d", ""))
	if c = next(t, session); c.Applied.Pose != (pipeline.Pose{}) {
		t.Errorf("after a reset: %+v", c.Applied)
	}
	if err := session.Control(t.Context(), keys("e", "x")); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("an unknown key: %v", err)
	}
}

// tinyGoesOn cuts a film in two, in the middle of a chunk: what was made of it and not given comes first; then the flight goes on where it was, with the
// frames of one run but for the rounding of what was kept, since the window still holds all that was before.
func tinyGoesOn(t *testing.T, p pipeline.Pipeline) {
	req := tinyRequest(61)
	req.Camera = &pipeline.Camera{Controls: []pipeline.TimedControl{{AtS: 0, Keys: "w"}}}
	_, whole := drain(t, openOn(t, p, req))
	req.Frames = 21
	chunks, first := drain(t, openOn(t, p, req))
	req.Frames, req.State = 40, chunks[len(chunks)-1].State
	more, second := drain(t, openOn(t, p, req))
	film := append(first, second...)
	if len(film) != 61 || len(more[0].Frames) != 16 {
		t.Fatalf("%d frames, %d in the first chunk of the second half", len(film), len(more[0].Frames))
	}
	worst := 0.0
	for i := range film {
		worst = max(worst, distance(film[i], whole[i]))
	}
	t.Logf("frames differ by %.2f of 255 at most", worst)
	if worst > 0.8 {
		t.Errorf("a frame differs by %.2f of 255 from that of one run", worst)
	}
	if z := more[len(more)-1].Applied.Pose.Z; math.Abs(z-6) > 1e-9 { // 15 intervals of four steps of 0.1
		t.Errorf("the flight ends at %g", z)
	}
	live := tinyRequest(0)
	live.State = more[0].State
	session := openOn(t, p, live)
	control(t, session, keys("", "j"))
	c := next(t, session)
	if len(c.Frames) != 16 || c.Applied.Keys != "j" {
		t.Errorf("a live session that goes on: %d frames, %+v", len(c.Frames), c.Applied)
	}
	live.Prompt = "an arctic night" // what a session began with leads it no more
	session = openOn(t, p, live)
	control(t, session, keys("", "j"))
	if again := next(t, session); !bytes.Equal(again.Frames[15].Data, c.Frames[15].Data) {
		t.Error("a live session that goes on is led by what it began with")
	}
}

// distance is the root mean square of two frames' luma.
func distance(a, b media.Frame) float64 {
	x, _, _ := a.Planes()
	y, _, _ := b.Planes()
	var sum float64
	for i := range x {
		d := float64(x[i]) - float64(y[i])
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(x)))
}

func tinyRefuses(t *testing.T, p pipeline.Pipeline) {
	for name, change := range map[string]func(*pipeline.Request){
		"size":   func(r *pipeline.Request) { r.Width = 96 },
		"frames": func(r *pipeline.Request) { r.Frames = -1 },
		"state":  func(r *pipeline.Request) { r.State = []byte("{}") },
		"text":   func(r *pipeline.Request) { r.State = []byte("?") },
		"camera": func(r *pipeline.Request) { r.Camera = &pipeline.Camera{Poses: []pipeline.Pose{{X: math.NaN()}}} },
	} {
		req := tinyRequest(13)
		change(&req)
		if _, err := p.Open(t.Context(), req); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	session := openOn(t, p, tinyRequest(13))
	if err := session.Control(t.Context(), keys("a", "w")); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a control of a bounded request: %v", err)
	}
	cause := errors.New("enough")
	if _, err := session.Next(ended(t, cause)); !errors.Is(err, cause) {
		t.Errorf("Next answers %v", err)
	}
}

// TestTinyWorldSaysWhereItLooked loads without weights: one line names the places.
func TestTinyWorldSaysWhereItLooked(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "vae.safetensors"), []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options pipeline.Options
		words   []string
	}{
		"nothing": {pipeline.Options{}, []string{"--models-dir", "dit.safetensors"}},
		"empty":   {pipeline.Options{ModelsDir: dir}, []string{dir, filepath.Join(dir, "tiny-world"), "dit.safetensors"}},
		"folder":  {pipeline.Options{Weights: filepath.Join(dir, "x")}, []string{filepath.Join(dir, "x")}},
		"seed":    {pipeline.Options{Weights: "random:x"}, []string{"random:x"}},
	} {
		p, err := pipeline.NewOn("tiny-world", c.options)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Load(t.Context(), func(float64) {})
		if !errors.Is(err, pipeline.ErrInvalid) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s: %v", name, err)
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %s", name, err, w)
			}
		}
		if _, err := p.Open(t.Context(), tinyRequest(13)); err == nil {
			t.Errorf("%s: a session opens without weights", name)
		}
	}
	p, err := pipeline.NewOn("tiny-world", pipeline.Options{Devices: []int{0, 1}, Weights: "random:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(t.Context(), func(float64) {}); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("on two GPUs: %v", err)
	}
}
