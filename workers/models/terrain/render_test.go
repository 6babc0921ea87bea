package terrain_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os/exec"
	"regexp"
	"runtime"
	"testing"

	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
)

func newWorld(t *testing.T, cfg terrain.WorldConfig) *terrain.World {
	t.Helper()
	world, err := terrain.NewWorld(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return world
}

// renderFlight makes frames of an autopilot flight.
func renderFlight(t *testing.T, world *terrain.World, width, height, threads, frames int) []media.Frame {
	t.Helper()
	renderer, err := terrain.NewRenderer(world, width, height, threads)
	if err != nil {
		t.Fatal(err)
	}
	flight := newFlight(t, terrain.FlightConfig{Autopilot: true, Seed: 1}, nil)
	result := make([]media.Frame, frames)
	for i := range result {
		pose, ticks := flight.Next()
		result[i] = media.NewFrame(width, height)
		if _, err := renderer.Render(result[i], pose, 1, ticks); err != nil {
			t.Fatal(err)
		}
	}
	return result
}

func digest(frames []media.Frame) string {
	h := sha256.New()
	for _, frame := range frames {
		h.Write(frame.Data)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func mean(plane []byte) float64 {
	sum := 0
	for _, v := range plane {
		sum += int(v)
	}
	return float64(sum) / float64(len(plane))
}

func TestThreadsChangeNothing(t *testing.T) {
	world := newWorld(t, terrain.WorldConfig{Prompt: "islands at sunset", Seed: 4, HourOfDay: -1})
	want := digest(renderFlight(t, world, 200, 120, 1, 5))
	for _, threads := range []int{2, 3, 7, 32} {
		if got := digest(renderFlight(t, world, 200, 120, threads, 5)); got != want {
			t.Errorf("%d threads give %s, one gives %s", threads, got, want)
		}
	}
}

func TestFrameDoesNotDependOnTheWayThere(t *testing.T) {
	world := newWorld(t, terrain.WorldConfig{Prompt: "alps", Seed: 4, HourOfDay: -1})
	frames := renderFlight(t, world, 160, 96, 2, 40)
	renderer, err := terrain.NewRenderer(world, 160, 96, 2)
	if err != nil {
		t.Fatal(err)
	}
	flight := newFlight(t, terrain.FlightConfig{Autopilot: true, Seed: 1}, nil)
	for i := range frames {
		pose, ticks := flight.Next()
		if i != 39 {
			continue
		}
		frame := media.NewFrame(160, 96)
		if _, err := renderer.Render(frame, pose, 1, ticks); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(frame.Data, frames[i].Data) {
			t.Fatal("a frame made alone differs from the same frame of a flight")
		}
	}
}

func TestPromptAndSeedMakeOtherWorlds(t *testing.T) {
	seen := map[string]terrain.WorldConfig{}
	for _, cfg := range []terrain.WorldConfig{
		{Prompt: "a red ball"}, {Prompt: "a red ball", Seed: 1}, {Prompt: "a red ball", Seed: -1}, {Prompt: "a blue ball"}, {Prompt: "desert"}, {Prompt: "ocean"},
		{Prompt: "ocean", StylePrompt: "night"}, {Prompt: "ocean", Seed: 1 << 62}, {Prompt: ""},
	} {
		cfg.HourOfDay = -1
		d := digest(renderFlight(t, newWorld(t, cfg), 96, 64, 1, 1))
		if other, twice := seen[d]; twice {
			t.Errorf("%+v and %+v look the same", cfg, other)
		}
		seen[d] = cfg
	}
	cfg := terrain.WorldConfig{Prompt: "  A RED   ball ", HourOfDay: -1}
	if d := digest(renderFlight(t, newWorld(t, cfg), 96, 64, 1, 1)); seen[d].Prompt != "a red ball" {
		t.Error("case and spaces of a prompt change the world")
	}
}

func TestWordsShow(t *testing.T) {
	luma := func(prompt string) float64 {
		frame := renderFlight(t, newWorld(t, terrain.WorldConfig{Prompt: prompt, Seed: 2, HourOfDay: -1}), 160, 96, 1, 1)[0]
		y, _, _ := frame.Planes()
		return mean(y)
	}
	red := func(prompt string) float64 {
		frame := renderFlight(t, newWorld(t, terrain.WorldConfig{Prompt: prompt, Seed: 2, HourOfDay: -1}), 160, 96, 1, 1)[0]
		_, _, cr := frame.Planes()
		return mean(cr)
	}
	if night, noon := luma("mountains at night"), luma("mountains at noon"); night > noon-40 {
		t.Errorf("night has luma %.0f, noon %.0f", night, noon)
	}
	if mars, ocean := red("mars"), red("ocean at noon"); mars < ocean+20 {
		t.Errorf("mars has red chroma %.0f, the ocean %.0f", mars, ocean)
	}
}

func TestImageColoursTheWorld(t *testing.T) {
	image := &media.Image{Width: 160, Height: 96, RGB: make([]byte, 160*96*3)}
	for i := 0; i < len(image.RGB); i += 3 {
		image.RGB[i], image.RGB[i+1], image.RGB[i+2] = 200, 40, byte(30+i/600)
	}
	plain := renderFlight(t, newWorld(t, terrain.WorldConfig{Prompt: "hills", Seed: 2, HourOfDay: 12}), 160, 96, 1, 1)[0]
	painted := newWorld(t, terrain.WorldConfig{Prompt: "hills", Seed: 2, HourOfDay: 12, Image: image})
	frame := renderFlight(t, painted, 160, 96, 1, 1)[0]
	_, _, before := plain.Planes()
	_, _, after := frame.Planes()
	if mean(after) < mean(before)+25 {
		t.Errorf("red chroma is %.0f with a red image and %.0f without", mean(after), mean(before))
	}
	again := newWorld(t, terrain.WorldConfig{Prompt: "hills", Seed: 2, HourOfDay: 12, Picture: painted.Picture()})
	if !bytes.Equal(renderFlight(t, again, 160, 96, 1, 1)[0].Data, frame.Data) {
		t.Error("what a world keeps of its image does not make the same world")
	}
}

func TestEveryAllowedSizeRenders(t *testing.T) {
	world := newWorld(t, terrain.WorldConfig{Prompt: "coast", HourOfDay: -1})
	for _, size := range [][2]int{{64, 64}, {66, 1920}, {1920, 66}, {1920, 1088}, {1088, 1920}, {130, 98}} {
		renderer, err := terrain.NewRenderer(world, size[0], size[1], 2)
		if err != nil {
			t.Fatal(err)
		}
		frame := media.NewFrame(size[0], size[1])
		for _, pitch := range []float64{0, terrain.PitchLimit, -terrain.PitchLimit} {
			if _, err := renderer.Render(frame, terrain.Pose{Pitch: pitch}, 1, 0); err != nil {
				t.Fatal(err)
			}
			y, cb, cr := frame.Planes()
			for i, v := range y {
				if v < 16 || v > 235 {
					t.Fatalf("%v pitch %.1f: luma %d at %d,%d", size, pitch, v, i%size[0], i/size[0])
				}
			}
			if mean(cb) < 16 || mean(cr) < 16 {
				t.Fatalf("%v: chroma is empty", size)
			}
		}
	}
	for _, size := range [][2]int{{62, 64}, {64, 62}, {65, 64}, {64, 65}, {1922, 64}, {1920, 1090}, {0, 0}, {-64, -64}, {65, 65}} {
		if _, err := terrain.NewRenderer(world, size[0], size[1], 1); !errors.Is(err, terrain.ErrConfig) {
			t.Errorf("size %v: %v", size, err)
		}
	}
}

func TestFarFlightsStayWhole(t *testing.T) {
	world := newWorld(t, terrain.WorldConfig{Prompt: "hills", HourOfDay: -1})
	renderer, err := terrain.NewRenderer(world, 96, 64, 1)
	if err != nil {
		t.Fatal(err)
	}
	frame := media.NewFrame(96, 64)
	for _, pose := range []terrain.Pose{{X: 1e6, Z: -1e6}, {X: -1e6, Y: 1e6}, {Y: -1e6, Pitch: -1}, {Yaw: 1e6}, {Z: -12345.678}} {
		if _, err := renderer.Render(frame, pose, 1, 1<<40); err != nil {
			t.Fatal(err)
		}
		y, _, _ := frame.Planes()
		for i, v := range y {
			if v < 16 || v > 235 {
				t.Fatalf("%+v: luma %d at %d", pose, v, i)
			}
		}
	}
}

// TestGoldenFrames holds the bytes of whole flights. A change of them needs a new Version in the pipeline's contract.
func TestGoldenFrames(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the digests were checked on amd64 and arm64 only")
	}
	for _, test := range goldenFrames() {
		cfg := terrain.WorldConfig{Prompt: test.prompt, StylePrompt: test.style, Seed: test.seed, HourOfDay: -1}
		if got := digest(renderFlight(t, newWorld(t, cfg), test.width, test.height, 2, 3)); got != test.want {
			t.Errorf("%q seed %d %dx%d: %s, want %s", test.prompt, test.seed, test.width, test.height, got, test.want)
		}
	}
}

// TestNothingIsFused holds the promise that other architectures give the same bytes: a fused multiply-add rounds once where two
// operations round twice.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package for another architecture")
	}
	command := exec.Command("go", "build", "-gcflags=-S", ".")
	command.Env = append(command.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	listing, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, listing)
	}
	if !bytes.Contains(listing, []byte("FMULD")) {
		t.Fatal("the listing shows no arithmetic")
	}
	if fused := regexp.MustCompile(`\S+\.go:\d+\)\s+FN?M(ADD|SUB)[SD].*`).FindAll(listing, 5); fused != nil {
		t.Errorf("fused: %s", bytes.Join(fused, []byte("; ")))
	}
}
