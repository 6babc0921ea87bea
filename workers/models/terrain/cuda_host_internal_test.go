package terrain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"telefuser/workers/gpu"
	"telefuser/workers/media"
)

// hostAccelerator runs the kernels' very source on the processor, one thread after the other. Device memory is C memory.
type hostAccelerator struct {
	run, takeMemory, giveMemory gpu.Proc
	// poison fills new memory, so that what no kernel writes shows.
	poison byte
	held   int
}

func (h *hostAccelerator) at(p gpu.Ptr, bytes int64) []byte {
	address := uintptr(p)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), bytes) // the address is C memory's
}

func (h *hostAccelerator) take(bytes int64) (gpu.Ptr, error) {
	p := gpu.Ptr(h.takeMemory.Call(uintptr(bytes)))
	memory := h.at(p, bytes)
	memory[0] = h.poison
	for done := 1; done < len(memory); done *= 2 {
		copy(memory[done:], memory[:done])
	}
	h.held++
	return p, nil
}

func (h *hostAccelerator) give(p gpu.Ptr) error {
	h.giveMemory.Call(uintptr(p))
	h.held--
	return nil
}

func (h *hostAccelerator) send(dst gpu.Ptr, src []byte) error {
	copy(h.at(dst, int64(len(src))), src)
	return nil
}

func (h *hostAccelerator) clear(dst gpu.Ptr, bytes int64) error {
	clear(h.at(dst, bytes))
	return nil
}

func (h *hostAccelerator) launch(k kernel, blocks, rows, threads int, a, b gpu.Ptr) error {
	h.run.Call(uintptr(k), uintptr(blocks), uintptr(rows), uintptr(threads), uintptr(a), uintptr(b))
	return nil
}

func (h *hostAccelerator) fetch(dst []media.Frame, src gpu.Ptr) (time.Duration, error) {
	for _, frame := range dst {
		copy(frame.Data, h.at(src, int64(len(frame.Data))))
		src += gpu.Ptr(len(frame.Data))
	}
	return 0, nil
}

func (h *hostAccelerator) begin() error  { return nil }
func (h *hostAccelerator) end() error    { return nil }
func (h *hostAccelerator) settle() error { return nil }
func (h *hostAccelerator) close() error  { return nil }

// onHost compiles the kernels for the processor, or skips and says why.
func onHost(t *testing.T) (*CUDA, *hostAccelerator) {
	t.Helper()
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skipf("needs clang-19: %v", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("loads a shared library of Linux")
	}
	lib := filepath.Join(t.TempDir(), "terrain.so")
	log, err := exec.CommandContext(t.Context(), clang, "-x", "c++", "-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-DTELEFUSER_HOST", "-o", lib, "terrain.cu").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	library, err := gpu.OpenLibrary(lib)
	if err != nil {
		t.Fatal(err)
	}
	h := &hostAccelerator{poison: 0xa5}
	if err := library.Procs(map[string]*gpu.Proc{"host_run": &h.run, "host_take": &h.takeMemory, "host_give": &h.giveMemory}); err != nil {
		t.Fatal(err)
	}
	c := &CUDA{acc: h, do: func(ctx context.Context, fn func() error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return fn()
	}}
	t.Cleanup(func() {
		if err := c.release(); err != nil || h.held != 0 {
			t.Errorf("%d pieces of device memory are held at the end, error %v", h.held, err)
		}
	})
	return c, h
}

// drawBoth draws the same shots with both renderers and compares every byte.
func drawBoth(t *testing.T, c *CUDA, world *World, width, height int, shots []Shot, altitude float64) {
	t.Helper()
	plain, err := NewRenderer(world, width, height, 2)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.NewCUDARenderer(t.Context(), world, width, height)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	got := make([]media.Frame, len(shots))
	for i := range got {
		got[i] = media.NewFrame(width, height)
	}
	if _, err := r.Render(t.Context(), got, shots, altitude); err != nil {
		t.Fatal(err)
	}
	want := media.NewFrame(width, height)
	for i, shot := range shots {
		if _, err := plain.Render(want, shot.Pose, altitude, shot.Ticks); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[i].Data, want.Data) {
			t.Fatalf("frame %d: %s", i, difference(want.Data, got[i].Data))
		}
	}
}

// difference tells how many bytes differ, by how much at most, and where first.
func difference(want, got []byte) string {
	first, count, worst := -1, 0, 0
	for k := range want {
		if d := int(want[k]) - int(got[k]); d != 0 {
			if first < 0 {
				first = k
			}
			count++
			worst = max(worst, d, -d)
		}
	}
	return fmt.Sprintf("%d bytes differ, by %d at most, the first at %d of %d", count, worst, first, len(want))
}

// flyAlong is the beginning of a flight.
func flyAlong(t *testing.T, frames int, speed float64) []Shot {
	t.Helper()
	flight, err := NewFlight(FlightConfig{FPS: 16, Speed: speed, Seed: 1, Autopilot: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shots := make([]Shot, frames)
	for i := range shots {
		shots[i].Pose, shots[i].Ticks = flight.Next()
	}
	return shots
}

// TestKernelsDrawTheSameBytes needs no GPU: the kernels' source runs on the processor, through all of the code that feeds a device.
func TestKernelsDrawTheSameBytes(t *testing.T) {
	c, _ := onHost(t)
	for _, test := range []struct {
		cfg           WorldConfig
		width, height int
		frames        int
		speed         float64
		altitude      float64
	}{
		{WorldConfig{Prompt: "islands at sunset", Seed: 4, HourOfDay: -1}, 200, 120, 20, 1, 1},
		{WorldConfig{Prompt: "alpine lake in the morning mist", Seed: 1, HourOfDay: -1}, 416, 240, 3, 1, 1},
		{WorldConfig{Prompt: "desert under stars", Seed: 2, HourOfDay: 1}, 320, 180, 2, 1, 0.5},
		{WorldConfig{Prompt: "volcano", StylePrompt: "winter storm", Seed: -3, HourOfDay: -1}, 96, 160, 17, 8, 2},
		{WorldConfig{Prompt: "lagoon at noon", Seed: 9, HourOfDay: 12}, 66, 66, 33, 4, 0.25},
		{WorldConfig{Prompt: "mars", Seed: 5, HourOfDay: 6.2}, 1920, 64, 1, 1, 1},
		{WorldConfig{Prompt: "autumn lake", Seed: 6, HourOfDay: 17.9}, 64, 1920, 1, 1, 4},
	} {
		t.Run(test.cfg.Prompt, func(t *testing.T) {
			world, err := NewWorld(test.cfg)
			if err != nil {
				t.Fatal(err)
			}
			drawBoth(t, c, world, test.width, test.height, flyAlong(t, test.frames, test.speed), test.altitude)
		})
	}
}

// TestKernelsFollowJumps draws poses whose maps push each other out within one chunk.
func TestKernelsFollowJumps(t *testing.T) {
	c, _ := onHost(t)
	world, err := NewWorld(WorldConfig{Prompt: "coast", Seed: 3, HourOfDay: -1})
	if err != nil {
		t.Fatal(err)
	}
	var shots []Shot
	for i := range 12 {
		shots = append(shots, Shot{Pose: Pose{X: float64(i%3) * 30, Z: float64(i%2) * 1e5, Yaw: float64(i), Pitch: float64(i%5-2) * PitchLimit / 2}, Ticks: int64(i) << 35})
	}
	shots = append(shots, Shot{Pose: Pose{X: 1e6, Z: -1e6}}, Shot{Pose: Pose{X: -1e6, Y: 1e6, Yaw: 1e6}}, Shot{Pose: Pose{Y: -1e6, Pitch: -1}})
	drawBoth(t, c, world, 128, 96, shots, 1)
}

// TestANewLookReachesTheDevice changes the world between two chunks, and shares one device between two renderers of unlike sizes.
func TestANewLookReachesTheDevice(t *testing.T) {
	c, _ := onHost(t)
	small, err := NewWorld(WorldConfig{Prompt: "fjord", Seed: 3, HourOfDay: -1})
	if err != nil {
		t.Fatal(err)
	}
	night, err := NewWorld(WorldConfig{Prompt: "fjord", StylePrompt: "night", Seed: 3, HourOfDay: -1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.NewCUDARenderer(t.Context(), small, 96, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	shots := flyAlong(t, 2, 1)
	frames := []media.Frame{media.NewFrame(96, 64)}
	// A chunk that was cut off leaves no hole in the map: its blocks are counted as missing still.
	cause := errors.New("cut off")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := r.Render(ended, frames, shots[:1], 1); !errors.Is(err, cause) {
		t.Errorf("a chunk under an ended context: %v", err)
	}
	same := func(world *World, shot Shot) {
		t.Helper()
		plain, err := NewRenderer(world, 96, 64, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := media.NewFrame(96, 64)
		if _, err := plain.Render(want, shot.Pose, 1, shot.Ticks); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want.Data, frames[0].Data) {
			t.Error(difference(want.Data, frames[0].Data))
		}
	}
	if _, err := r.Render(t.Context(), frames, shots[:1], 1); err != nil {
		t.Fatal(err)
	}
	same(small, shots[0])
	drawBoth(t, c, small, 160, 96, shots, 1) // a larger picture moves the shared work space
	r.SetWorld(night)
	if _, err := r.Render(t.Context(), frames, shots[1:], 1); err != nil {
		t.Fatal(err)
	}
	same(night, shots[1])
}
