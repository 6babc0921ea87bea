package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// small loads a small model of the structure of a true one, with weights from a seed.
func small(t *testing.T, make func(pipeline.Options) (pipeline.Pipeline, error), o pipeline.Options) pipeline.Pipeline {
	t.Helper()
	p, err := make(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Load(t.Context(), func(float64) {}); err != nil {
		t.Fatal(err)
	}
	return p
}

// picture64 is a picture of 64 x 32 pixels in one colour.
func picture64(colour ...byte) *media.Image {
	return &media.Image{Width: 64, Height: 32, RGB: bytes.Repeat(colour, 64*32)}
}

func smallRequest(frames int) pipeline.Request {
	return pipeline.Request{Task: contract.TaskImageToVideo, Prompt: "a road through hills", Width: 64, Height: 32, FPS: 16, Frames: frames, Seed: 5, Image: picture64(200, 40, 90)}
}

func TestSmallWorld(t *testing.T) {
	t.Parallel()
	p := small(t, pipeline.NewSmallWorld, pipeline.Options{})
	if got := p.Contract().Weights; got != "random:7" {
		t.Errorf("the contract says that its weights are %q", got)
	}
	chunks, frames := drain(t, openOn(t, p, smallRequest(77)))
	if len(chunks) != 5 || len(chunks[0].Frames) != 13 || len(chunks[4].Frames) != 16 || len(frames) != 77 {
		t.Fatalf("%d chunks, %d frames", len(chunks), len(frames))
	}
	if p := chunks[4].Applied.Pose; p != (pipeline.Pose{}) {
		t.Errorf("a bounded flight without a camera stands at %+v", p)
	}
	if _, again := drain(t, openOn(t, p, smallRequest(29))); !reflect.DeepEqual(frames[:29], again) {
		t.Error("the same request gives other frames")
	}
	for name, change := range map[string]func(*pipeline.Request){
		"prompt":  func(r *pipeline.Request) { r.Prompt = "a frozen lake" },
		"picture": func(r *pipeline.Request) { r.Image = picture64(20, 140, 30) },
		"seed":    func(r *pipeline.Request) { r.Seed = 6 },
		"camera": func(r *pipeline.Request) {
			r.Camera = &pipeline.Camera{Controls: []pipeline.TimedControl{{AtS: 0, Keys: "wj"}}}
		},
	} {
		req := smallRequest(13)
		change(&req)
		if _, other := drain(t, openOn(t, p, req)); bytes.Equal(other[12].Data, frames[12].Data) {
			t.Errorf("another %s changes nothing", name)
		}
	}
	if chunks[1].State != nil {
		t.Error("a bounded video carries a state that nobody can go on from")
	}
	smallLive(t, p)
	smallGoesOn(t, p)
	smallRefuses(t, p, map[string]func(*pipeline.Request){
		"size": func(r *pipeline.Request) { r.Width = 32 }, "frames": func(r *pipeline.Request) { r.Frames = -1 },
		"no picture": func(r *pipeline.Request) { r.Image = nil }, "state": func(r *pipeline.Request) { r.State = []byte("{}") },
		"pose": func(r *pipeline.Request) { r.Camera = &pipeline.Camera{Poses: []pipeline.Pose{{Yaw: math.NaN()}}} },
	})
}

// smallLive flies live: keys and prompts act on the very next chunk.
func smallLive(t *testing.T, p pipeline.Pipeline) {
	one, other := openOn(t, p, smallRequest(0)), openOn(t, p, smallRequest(0))
	control(t, one, keys("a", "w"))
	lake := "a frozen lake"
	control(t, other, keys("a", "w"), pipeline.Control{ID: "b", Prompt: &lake})
	a, b := next(t, one), next(t, other)
	if len(a.Frames) != 13 || a.Applied.Keys != "w" || math.Abs(a.Applied.Pose.Z-1.2) > 1e-9 || bytes.Equal(a.Frames[12].Data, b.Frames[12].Data) {
		t.Errorf("%d frames, %+v", len(a.Frames), a.Applied)
	}
	control(t, one, keys("c", "l"))
	if a = next(t, one); len(a.Frames) != 16 || a.Applied.Keys != "l" || math.Abs(a.Applied.Pose.Yaw-8*math.Pi/180) > 1e-9 {
		t.Errorf("%d frames, %+v", len(a.Frames), a.Applied)
	}
}

// whole makes a whole video and ends its session.
func whole(t *testing.T, p pipeline.Pipeline, req pipeline.Request) ([]pipeline.Chunk, []media.Frame) {
	t.Helper()
	s := openOn(t, p, req)
	chunks, frames := drain(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return chunks, frames
}

func smallRefuses(t *testing.T, p pipeline.Pipeline, changes map[string]func(*pipeline.Request)) {
	t.Helper()
	for name, change := range changes {
		req := smallRequest(13)
		change(&req)
		if s, err := p.Open(t.Context(), req); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
			_ = s.Close()
		}
	}
}

// TestSmallFast remembers all of a video, and so ends when its cache is full.
func TestSmallFast(t *testing.T) {
	t.Parallel()
	p := small(t, pipeline.NewSmallFast, pipeline.Options{})
	chunks, frames := whole(t, p, smallRequest(33))
	if len(chunks) != 3 || len(chunks[0].Frames) != 9 || len(chunks[1].Frames) != 12 || len(frames) != 33 {
		t.Fatalf("%d chunks, %d frames", len(chunks), len(frames))
	}
	if _, err := p.Open(t.Context(), smallRequest(46)); !errors.Is(err, pipeline.ErrInvalid) { // 45 are 12 latent frames
		t.Errorf("a video that does not fit: %v", err)
	}
	s := openOn(t, p, smallRequest(0))
	control(t, s, keys("a", "w"))
	for i := range 4 {
		if c := next(t, s); c.Index != i {
			t.Errorf("chunk %d is numbered %d", i, c.Index)
		}
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("beyond the cache: %v", err)
	}
}

func TestSmallFilm(t *testing.T) {
	t.Parallel()
	p := small(t, pipeline.NewSmallFilm, pipeline.Options{})
	request := func(frames int) pipeline.Request {
		req := smallRequest(frames)
		req.Task, req.Image = contract.TaskTextToVideo, nil
		return req
	}
	chunks, frames := whole(t, p, request(32)) // two seconds: the last latent frame is cut
	if len(chunks) != 3 || len(chunks[0].Frames) != 13 || len(chunks[2].Frames) != 3 || len(frames) != 32 {
		t.Fatalf("%d chunks, %d frames", len(chunks), len(frames))
	}
	tall := request(13)
	tall.Width, tall.Height = 32, 64
	if _, other := whole(t, p, tall); len(other) != 13 || other[0].Width != 32 || other[0].Height != 64 {
		t.Error("another size is not made")
	}
	if _, again := whole(t, p, request(32)); !reflect.DeepEqual(frames, again) {
		t.Error("the same request gives other frames, after one of another size")
	}
	for name, parameters := range map[string]map[string]any{
		"negative": {"negative_prompt": "fog"}, "scale": {"guidance_scale": 2.0}, "steps": {"num_inference_steps": int64(3)}, "shift": {"flow_shift": 3.0},
	} {
		req := request(32)
		req.Parameters = parameters
		if _, other := whole(t, p, req); bytes.Equal(other[20].Data, frames[20].Data) {
			t.Errorf("another %s changes nothing", name)
		}
	}
	s := openOn(t, p, request(13))
	if _, err := p.Open(t.Context(), request(13)); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a second video at once: %v", err)
	}
	if err := s.Control(t.Context(), keys("a", "w")); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a control: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	smallRefuses(t, p, map[string]func(*pipeline.Request){
		"size": func(r *pipeline.Request) { r.Image, r.Width, r.Height = nil, 64, 64 }, "live": func(r *pipeline.Request) { r.Image, r.Frames = nil, 0 },
		"length": func(r *pipeline.Request) { r.Image, r.Frames = nil, 82 }, "a picture": func(*pipeline.Request) {},
		"steps": func(r *pipeline.Request) { r.Image, r.Parameters = nil, map[string]any{"num_inference_steps": "x"} },
	})
}

// TestSmallPair makes a video from a picture with two transformers, the second of which works at little noise alone.
func TestSmallPair(t *testing.T) {
	t.Parallel()
	p := small(t, pipeline.NewSmallPair, pipeline.Options{})
	_, frames := whole(t, p, smallRequest(17))
	for name, change := range map[string]func(*pipeline.Request){
		"picture":    func(r *pipeline.Request) { r.Image = picture64(20, 140, 30) },
		"high noise": func(r *pipeline.Request) { r.Parameters = map[string]any{"guidance_scale": 9.0} },
		"low noise":  func(r *pipeline.Request) { r.Parameters = map[string]any{"guidance_scale_2": 9.0} },
	} {
		req := smallRequest(17)
		change(&req)
		if _, other := whole(t, p, req); bytes.Equal(other[16].Data, frames[16].Data) {
			t.Errorf("another %s changes nothing", name)
		}
	}
}

// TestAPairNeedsAPicture opens a video without the picture that its transformers read.
func TestAPairNeedsAPicture(t *testing.T) {
	t.Parallel()
	smallRefuses(t, small(t, pipeline.NewSmallPair, pipeline.Options{}), map[string]func(*pipeline.Request){"no picture": func(r *pipeline.Request) { r.Image = nil }})
}

// TestAFilmMovesAndStops ends a video between two layers, and hears that the work moves.
func TestAFilmMovesAndStops(t *testing.T) {
	t.Parallel()
	p := small(t, pipeline.NewSmallFilm, pipeline.Options{})
	req := smallRequest(13)
	req.Image = nil
	s := openOn(t, p, req)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	moves := make(chan struct{}, 1000)
	s.(pipeline.Mover).OnMove(func(float64) {
		moves <- struct{}{}
		cancel(cause)
	})
	if _, err := s.Next(ctx); !errors.Is(err, cause) {
		t.Errorf("Next answers %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := len(moves); n < 1 || n > 16 { // of 4 steps with 2 texts through 2 layers
		t.Errorf("the work moved %d times", n)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after its end: %v", err)
	}
}

// TestAFilmTellsHowFarItIs long before its first frame, and until its last.
func TestAFilmTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	p := small(t, pipeline.NewSmallPair, pipeline.Options{})
	req := smallRequest(29)
	req.Parameters = map[string]any{"guidance_scale_2": 1.0, "num_inference_steps": int64(5)} // little noise goes through once
	s := openOn(t, p, req)
	var mu sync.Mutex
	var shares []float64
	s.(pipeline.Mover).OnMove(func(share float64) {
		mu.Lock()
		defer mu.Unlock()
		if n := len(shares); n > 0 && !(share > shares[n-1]) || !(share > 0) {
			t.Errorf("the work moved to %g after %v", share, shares)
		}
		shares = append(shares, share)
	})
	if chunks, _ := drain(t, s); len(chunks) != 2 {
		t.Fatalf("%d chunks", len(chunks))
	}
	mu.Lock()
	defer mu.Unlock()
	denoised := slices.Index(shares, 0.9)
	if denoised <= 5*2-1 || denoised >= 5*2*2-1 || len(shares) != denoised+3 || shares[len(shares)-1] != 1 {
		t.Errorf("5 steps of 2 layers, some of them with one text and some with two, and 2 chunks: %v", shares)
	}
}

// TestModelsSayWhatIsWrong loads models that cannot be loaded: one line says why, before any device is touched.
func TestModelsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	half := filepath.Join(dir, "wan2.1-t2v-14b")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config.json": "{}", "diffusion_pytorch_model.safetensors": "?"} {
		if err := os.WriteFile(filepath.Join(half, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gpu := []int{0}
	for name, c := range map[string]struct {
		pipeline string
		options  pipeline.Options
		words    []string
	}{
		"no GPU":   {"lingbot-world-v2", pipeline.Options{Weights: "random:1"}, []string{"needs a GPU"}},
		"nowhere":  {"lingbot-world-v2", pipeline.Options{Devices: gpu}, []string{"--models-dir", "lingbot-world-v2"}},
		"not here": {"wan2.2-t2v-a14b", pipeline.Options{Devices: gpu, ModelsDir: dir}, []string{filepath.Join(dir, "wan2.2-t2v-a14b"), filepath.Join(dir, "Wan2.2-T2V-A14B"), "high_noise_model"}},
		"corrupt":  {"wan2.1-t2v-14b", pipeline.Options{Devices: gpu, ModelsDir: dir}, []string{half}},
		"seed":     {"wan2.1-t2v-1.3b", pipeline.Options{Devices: gpu, Weights: "random:x"}, []string{"random:x"}},
		"two":      {"wan2.1-t2v-1.3b", pipeline.Options{Devices: []int{0, 1}, Weights: "random:1"}, []string{"one GPU"}},
	} {
		p, err := pipeline.NewOn(c.pipeline, c.options)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Load(t.Context(), func(float64) {})
		if !errors.Is(err, pipeline.ErrInvalid) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %s", name, err, w)
			}
		}
		if _, err := p.Open(t.Context(), smallRequest(13)); err == nil {
			t.Errorf("%s: a session opens without a model", name)
		}
	}
}
