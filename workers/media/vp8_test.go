package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"testing"
	"time"

	"telefuser/workers/media"
)

func newVP8(tb testing.TB, o media.VP8Options) *media.VP8Encoder {
	tb.Helper()
	e, err := media.NewVP8Encoder(o)
	if err != nil {
		if errors.Is(err, media.ErrEncoder) {
			tb.Skip(err)
		}
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// ivf wraps one stream's frames in the simplest container that ffmpeg reads.
type ivf struct{ bytes.Buffer }

func newIVF(w, h, fps int) *ivf {
	f := &ivf{}
	head := make([]byte, 32)
	copy(head, "DKIF")
	binary.LittleEndian.PutUint16(head[6:], 32)
	copy(head[8:], "VP80")
	binary.LittleEndian.PutUint16(head[12:], uint16(w))
	binary.LittleEndian.PutUint16(head[14:], uint16(h))
	binary.LittleEndian.PutUint32(head[16:], uint32(fps))
	binary.LittleEndian.PutUint32(head[20:], 1)
	f.Write(head)
	return f
}

func (f *ivf) add(data []byte, index int) {
	head := make([]byte, 12)
	binary.LittleEndian.PutUint32(head, uint32(len(data)))
	binary.LittleEndian.PutUint64(head[4:], uint64(index))
	f.Write(head)
	f.Write(data)
}

// decode answers the frames that ffmpeg sees.
func (f *ivf) decode(tb testing.TB, w, h int) []media.Frame {
	tb.Helper()
	needFFmpeg(tb)
	cmd := exec.CommandContext(tb.Context(), "ffmpeg", "-v", "error", "-f", "ivf", "-i", "pipe:0", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", "pipe:1")
	cmd.Stdin = &f.Buffer
	out, err := cmd.Output()
	if err != nil {
		tb.Fatal(err)
	}
	var frames []media.Frame
	for n := media.FrameBytes(w, h); len(out) >= n; out = out[n:] {
		frames = append(frames, media.Frame{Width: w, Height: h, Data: out[:n]})
	}
	return frames
}

// psnr compares the luma of two frames, in dB.
func psnr(a, b media.Frame) float64 {
	ya, _, _ := a.Planes()
	yb, _, _ := b.Planes()
	var sum float64
	for i := range ya {
		d := float64(ya[i]) - float64(yb[i])
		sum += d * d
	}
	return 10 * math.Log10(255*255*float64(len(ya))/sum)
}

func TestVP8FramesAreWhatWentIn(t *testing.T) {
	const w, h, fps, frames = 320, 192, 16, 80
	e := newVP8(t, media.VP8Options{Width: w, Height: h, FPS: fps, BitrateBitsPerSecond: 1_500_000})
	file, size := newIVF(w, h, fps), 0
	for i := range frames {
		data, key, err := e.Encode(scene(w, h, i), time.Duration(i)*time.Second/fps, false)
		if err != nil {
			t.Fatal(err)
		}
		if key != (i == 0) {
			t.Errorf("frame %d: key %v", i, key)
		}
		size += len(data)
		file.add(data, i)
	}
	decoded := file.decode(t, w, h)
	if len(decoded) != frames {
		t.Fatalf("%d frames went in, %d came out", frames, len(decoded))
	}
	for i, f := range decoded {
		if got := psnr(f, scene(w, h, i)); got < 30 {
			t.Errorf("frame %d: %.1f dB", i, got)
		}
	}
	if rate := size * 8 * fps / frames; rate > 1_500_000*13/10 {
		t.Errorf("%d bit/s", rate)
	}
}

func TestVP8KeyframesComeOnDemand(t *testing.T) {
	const w, h, fps = 320, 192, 16
	e := newVP8(t, media.VP8Options{Width: w, Height: h, FPS: fps, BitrateBitsPerSecond: 800_000, Threads: 2})
	file := newIVF(w, h, fps)
	late := 0
	for i := range 40 {
		force := i == 17 || i == 18 || i == 30
		data, key, err := e.Encode(scene(w, h, i), time.Duration(i)*time.Second/fps, force)
		if err != nil {
			t.Fatal(err)
		}
		if key != (force || i == 0) {
			t.Errorf("frame %d: key %v", i, key)
		}
		// The lowest bit of the first byte is 0 in a keyframe: RFC 6386, section 9.1.
		if key == (data[0]&1 == 1) {
			t.Errorf("frame %d: key %v, but its header says otherwise", i, key)
		}
		if i >= 30 {
			// A viewer who comes in here has nothing but what follows.
			file.add(data, late)
			late++
		}
	}
	if got := file.decode(t, w, h); len(got) != late || psnr(got[late-1], scene(w, h, 39)) < 25 {
		t.Errorf("a late viewer decoded %d of %d frames", len(got), late)
	}
}

func TestVP8FollowsItsBitrate(t *testing.T) {
	const w, h, fps, frames = 640, 384, 16, 160
	for _, bitrate := range []int{2_500_000, 5_000_000} {
		e := newVP8(t, media.VP8Options{Width: w, Height: h, FPS: fps, BitrateBitsPerSecond: bitrate})
		size := 0
		for i := range frames {
			data, _, err := e.Encode(scene(w, h, 5*i), time.Duration(i)*time.Second/fps, false)
			if err != nil {
				t.Fatal(err)
			}
			size += len(data)
		}
		if rate := size * 8 * fps / frames; rate > bitrate*13/10 || rate < bitrate*7/10 {
			t.Errorf("asked for %d bit/s, got %d", bitrate, rate)
		}
	}
}

func TestVP8RefusesWhatDoesNotFit(t *testing.T) {
	good := media.VP8Options{Width: 64, Height: 48, FPS: 16, BitrateBitsPerSecond: 200_000}
	for name, change := range map[string]func(*media.VP8Options){
		"odd width":  func(o *media.VP8Options) { o.Width = 65 },
		"no height":  func(o *media.VP8Options) { o.Height = 0 },
		"too large":  func(o *media.VP8Options) { o.Width = 1 << 14 },
		"no rate":    func(o *media.VP8Options) { o.FPS = 0 },
		"no bits":    func(o *media.VP8Options) { o.BitrateBitsPerSecond = 0 },
		"99 threads": func(o *media.VP8Options) { o.Threads = 99 },
	} {
		o := good
		change(&o)
		if e, err := media.NewVP8Encoder(o); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	e := newVP8(t, good)
	if _, _, err := e.Encode(media.NewFrame(64, 64), 0, false); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("a frame of another size: %v", err)
	}
	for _, step := range []struct {
		pts  time.Duration
		want error
	}{{0, nil}, {time.Second, nil}, {time.Second, media.ErrGeometry}, {time.Millisecond, media.ErrGeometry}, {2 * time.Second, nil}} {
		if _, _, err := e.Encode(media.NewFrame(64, 48), step.pts, false); !errors.Is(err, step.want) {
			t.Errorf("at %v: %v", step.pts, err)
		}
	}
	e.Close()
	e.Close()
	if _, _, err := e.Encode(media.NewFrame(64, 48), time.Hour, false); !errors.Is(err, media.ErrEncoder) {
		t.Errorf("after Close: %v", err)
	}
}

func TestCheckVP8(t *testing.T) {
	newVP8(t, media.VP8Options{Width: 64, Height: 48, FPS: 16, BitrateBitsPerSecond: 200_000})
	if err := media.CheckVP8(t.Context()); err != nil {
		t.Error(err)
	}
}

func BenchmarkVP8Encode(b *testing.B) {
	for _, size := range []struct{ w, h, bitrate int }{{832, 480, 1_500_000}, {1280, 720, 3_000_000}} {
		b.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(b *testing.B) {
			e := newVP8(b, media.VP8Options{Width: size.w, Height: size.h, FPS: 16, BitrateBitsPerSecond: size.bitrate})
			frames := make([]media.Frame, 32)
			for i := range frames {
				frames[i] = scene(size.w, size.h, i)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, _, err := e.Encode(frames[i%len(frames)], time.Duration(i)*time.Second/16, false); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
