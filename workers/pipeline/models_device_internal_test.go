package pipeline

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"telefuser/workers/contract"
	"telefuser/workers/gpu"
	"telefuser/workers/gpu/gputest"
	"telefuser/workers/media"
)

// loaded loads a pipeline and closes it when the test ends.
func loaded(t testing.TB, p Pipeline, err error) Pipeline {
	t.Helper()
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

// request asks for frames of a pipeline's own size.
func request(p Pipeline, frames int) Request {
	g := p.Contract().Geometry
	r := Request{Task: contract.TaskTextToVideo, Prompt: "a desert of red dunes", Width: g.DefaultWidth, Height: g.DefaultHeight, FPS: g.FPSDefault, Frames: frames, Seed: 5}
	if p.Contract().Name != tinyName {
		r.Task, r.Image = contract.TaskImageToVideo, &media.Image{Width: r.Width, Height: r.Height, RGB: bytes.Repeat([]byte{200, 40, 90}, r.Width*r.Height)}
	}
	return r
}

// makes opens a session and makes all of its chunks, or as many as are wanted.
func makes(t testing.TB, p Pipeline, req Request, chunksMax int) (chunks []Chunk, frames []media.Frame) {
	t.Helper()
	session, err := p.Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for len(chunks) < chunksMax {
		chunk, err := session.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		chunks, frames = append(chunks, chunk), append(frames, chunk.Frames...)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	return chunks, frames
}

// leavesNothing opens and closes a hundred sessions, makes a chunk or two in each, and wants the device's memory, and the goroutines, to be what they were
// after the first two.
func leavesNothing(t *testing.T, p Pipeline) {
	t.Helper()
	const sessions = 100
	held := func() (sum int64) {
		for _, d := range p.(MemoryUser).DeviceMemory() {
			sum += d.HeldBytes
		}
		return sum
	}
	var first int64
	var routines int
	for i := range sessions {
		makes(t, p, request(p, 29), 1+i%2)
		switch now := held(); {
		case i < 2:
			first, routines = now, runtime.NumGoroutine()
		case now != first:
			t.Fatalf("after session %d the device holds %d bytes, %d before", i, now, first)
		}
	}
	for range 200 { // what has just ended may need a moment to go
		if runtime.NumGoroutine() <= routines+2 {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > routines+2 {
		t.Errorf("%d goroutines, %d after the first sessions", now, routines)
	}
	t.Logf("%d sessions; the device holds %d bytes, as after the first ones", sessions, first)
}

// tiniestWorld is a small LingBot-World with pictures of a quarter: what a session leaves behind does not hang on their size.
func tiniestWorld(o Options) (Pipeline, error) {
	return newWorld(func() worldKind {
		k := smallWorld()
		g := &k.contract.Geometry
		g.DefaultWidth, g.DefaultHeight, g.WidthMin, g.HeightMin, g.SideMax, g.PixelsMax = 32, 16, 32, 16, 32, 32*16
		return k
	})(seeded(o))
}

func TestAHundredSessionsLeaveNothingBehind(t *testing.T) {
	t.Run("processor", func(t *testing.T) {
		p, err := tiniestWorld(Options{})
		leavesNothing(t, loaded(t, p, err))
	})
	t.Run("made-up GPU", func(t *testing.T) {
		m, err := gputest.New(t.TempDir(), 1, 1<<32)
		if errors.Is(err, gputest.ErrNoCompiler) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := tiniestWorld(Options{Devices: []int{0}, drivers: []string{m.Driver()}})
		p = loaded(t, p, err)
		if m := p.(MemoryUser).DeviceMemory(); len(m) != 1 || m[0].HeldBytes == 0 {
			t.Fatalf("the device holds %v", m)
		}
		if err := p.(Prober).Probe(t.Context()); err != nil {
			t.Error(err)
		}
		leavesNothing(t, p)
	})
}

// TestAFullDeviceIsOutOfMemory loads a model onto a GPU that is too small for it, and one that is lost.
func TestAFullDeviceIsOutOfMemory(t *testing.T) {
	m, err := gputest.New(t.TempDir(), 1, 1<<24)
	if errors.Is(err, gputest.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	load := func() error {
		p, err := NewSmallWorld(Options{Devices: []int{0}, drivers: []string{m.Driver()}})
		if err != nil {
			t.Fatal(err)
		}
		return errors.Join(p.Load(t.Context(), func(float64) {}), p.Close())
	}
	if err := load(); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("16 MB are enough: %v", err)
	}
	if err := m.Plant(0, gputest.AtRetain, 46); err != nil {
		t.Fatal(err)
	}
	if err := load(); err == nil || errors.Is(err, ErrOutOfMemory) {
		t.Errorf("a device that cannot be taken: %v", err)
	}
}

// tinyOnGPU is tiny-world on the first GPU: its own weights where TELEFUSER_MODELS has them, else some from a seed. Without a GPU the test is skipped.
func tinyOnGPU(t testing.TB) Pipeline {
	t.Helper()
	if d, err := gpu.Open(); err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	} else if n, err := d.Count(); err != nil || n < 1 {
		t.Skipf("needs an NVIDIA GPU: there are %d, %v", n, err)
	}
	o := Options{Devices: []int{0}, Weights: "random:3"}
	if dir := os.Getenv("TELEFUSER_MODELS"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, tinyName)); err == nil {
			o = Options{Devices: []int{0}, ModelsDir: dir}
		}
	}
	p, err := NewOn(tinyName, o)
	return loaded(t, p, err)
}

func TestAHundredSessionsOnCUDALeaveNothingBehind(t *testing.T) { leavesNothing(t, tinyOnGPU(t)) }

// TestTinyWorldGoesOnOnCUDA stops in the middle of a chunk and goes on from its state. The window holds all of the video, so the frames are the same, but for
// what bf16 makes of sums in another order: that grows with the chunks, most of all with weights from a seed.
func TestTinyWorldGoesOnOnCUDA(t *testing.T) {
	p := tinyOnGPU(t)
	_, whole := makes(t, p, request(p, 45), 3)
	chunks, _ := makes(t, p, request(p, 29), 2)
	rest := request(p, 16)
	rest.State = chunks[len(chunks)-1].State
	_, more := makes(t, p, rest, 2)
	if len(more) != 16 {
		t.Fatalf("%d frames", len(more))
	}
	apart := func(a, b media.Frame) (sum float64) {
		for i := range a.Data {
			d := float64(a.Data[i]) - float64(b.Data[i])
			sum += max(d, -d) / float64(len(a.Data))
		}
		return sum
	}
	for i, f := range more {
		same, other := apart(f, whole[29+i]), apart(f, whole[28-i])
		t.Logf("frame %d differs by %.2f of 255, another one by %.2f", 29+i, same, other)
		if same > 5 {
			t.Errorf("frame %d differs by %.2f of 255", 29+i, same)
		}
	}
}

// BenchmarkTinyWorldOnCUDAPipeline makes chunks of one session as an engine does: condition, denoising and decoding beside each other.
func BenchmarkTinyWorldOnCUDAPipeline(b *testing.B) {
	p := tinyOnGPU(b)
	session, err := p.Open(b.Context(), request(p, 0))
	if err != nil {
		b.Fatal(err)
	}
	keys := "wl"
	if err := session.Control(b.Context(), Control{Keys: &keys}); err != nil {
		b.Fatal(err)
	}
	for range 4 { // the window fills up
		if _, err := session.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	frames, stages := 0, map[string]int64{}
	for range b.N {
		chunk, err := session.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		frames += len(chunk.Frames)
		for _, s := range chunk.Stages {
			stages[s.Name] += s.DurationNS
		}
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "FPS")
	for name, ns := range stages {
		b.ReportMetric(float64(ns)/1e6/float64(b.N), name+"-ms/chunk")
	}
	b.StopTimer()
	if err := session.Close(); err != nil {
		b.Fatal(err)
	}
}
