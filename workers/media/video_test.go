package media_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/webp"

	"telefuser/workers/media"
)

func needFFmpeg(tb testing.TB) {
	tb.Helper()
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(tool); err != nil {
			tb.Skipf("%s is missing: apt-get install ffmpeg", tool)
		}
	}
}

// scene is a moving gradient with some texture, different for each frame.
func scene(w, h, index int) media.Frame {
	f := media.NewFrame(w, h)
	y, u, v := f.Planes()
	for row := range h {
		for col := range w {
			y[row*w+col] = byte(16 + (col+3*index+(row*row)/31+(col*row>>5)&15)%220)
		}
	}
	for i := range u {
		u[i], v[i] = byte(64+(i+index)%128), byte(64+(i/(w/2)+2*index)%128)
	}
	return f
}

// flat is a frame of one colour.
func flat(w, h int, r, g, b byte) media.Frame {
	return media.FromRGB(media.Image{Width: w, Height: h, RGB: bytes.Repeat([]byte{r, g, b}, w*h)})
}

func encode(tb testing.TB, o media.MP4Options, frames int) media.MP4Info {
	tb.Helper()
	w, err := media.NewMP4Writer(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Abort()
	for i := range frames {
		if err := w.Write(scene(o.Width, o.Height, i)); err != nil {
			tb.Fatal(err)
		}
	}
	info, err := w.Close()
	if err != nil {
		tb.Fatal(err)
	}
	return info
}

type probed struct {
	Streams []struct {
		CodecName      string `json:"codec_name"`
		PixFmt         string `json:"pix_fmt"`
		Width          int    `json:"width"`
		Height         int    `json:"height"`
		HasBFrames     int    `json:"has_b_frames"`
		NbReadFrames   string `json:"nb_read_frames"`
		NbFrames       string `json:"nb_frames"`
		TimeBase       string `json:"time_base"`
		DurationTS     int64  `json:"duration_ts"`
		StartPTS       int64  `json:"start_pts"`
		RFrameRate     string `json:"r_frame_rate"`
		AvgFrameRate   string `json:"avg_frame_rate"`
		ColorRange     string `json:"color_range"`
		ColorSpace     string `json:"color_space"`
		ColorTransfer  string `json:"color_transfer"`
		ColorPrimaries string `json:"color_primaries"`
	} `json:"streams"`
	Format struct {
		Duration string            `json:"duration"`
		Tags     map[string]string `json:"tags"`
	} `json:"format"`
	Frames []struct {
		PictType string `json:"pict_type"`
		PTS      int64  `json:"pts"`
	} `json:"frames"`
}

func probe(t *testing.T, path string) probed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_frames", "-show_streams", "-show_format", "-show_frames",
		"-of", "json", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var p probed
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// checkMP4 holds a file against everything that is promised of it.
func checkMP4(t *testing.T, path string, w, h, fps, frames int) {
	t.Helper()
	p := probe(t, path)
	if len(p.Streams) != 1 {
		t.Fatalf("%d streams", len(p.Streams))
	}
	s := p.Streams[0]
	got := fmt.Sprintf("%s %s %dx%d b=%d frames=%s/%s start=%d rate=%s/%s colour=%s %s %s %s", s.CodecName, s.PixFmt, s.Width, s.Height, s.HasBFrames,
		s.NbReadFrames, s.NbFrames, s.StartPTS, s.RFrameRate, s.AvgFrameRate, s.ColorRange, s.ColorSpace, s.ColorTransfer, s.ColorPrimaries)
	want := fmt.Sprintf("h264 yuv420p %dx%d b=0 frames=%d/%d start=0 rate=%d/1/%d/1 colour=tv bt709 bt709 bt709", w, h, frames, frames, fps, fps)
	if got != want {
		t.Errorf("ffprobe says\n%s, want\n%s", got, want)
	}
	var num, den int64
	if _, err := fmt.Sscanf(s.TimeBase, "%d/%d", &num, &den); err != nil || s.DurationTS*num*int64(fps) != int64(frames)*den {
		t.Errorf("the track lasts %d x %s s, want %d/%d s", s.DurationTS, s.TimeBase, frames, fps)
	}
	if want := fmt.Sprintf("%.6f", float64(frames)/float64(fps)); p.Format.Duration != want {
		t.Errorf("the file lasts %s s, want %s", p.Format.Duration, want)
	}
	for i, f := range p.Frames {
		if f.PictType == "B" || f.PTS != int64(i)*den/int64(fps) {
			t.Fatalf("frame %d is of type %s at %d", i, f.PictType, f.PTS)
		}
	}
	if len(p.Frames) == 0 || p.Frames[0].PictType != "I" {
		t.Error("the first frame is no keyframe")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if moov, mdat := bytes.Index(b, []byte("moov")), bytes.Index(b, []byte("mdat")); moov < 0 || moov > mdat {
		t.Errorf("moov at %d, mdat at %d", moov, mdat)
	}
	if p.Format.Tags["encoder"] != "" || p.Format.Tags["creation_time"] != "" {
		t.Errorf("tags %v", p.Format.Tags)
	}
}

func TestMP4IsExact(t *testing.T) {
	needFFmpeg(t)
	for _, tt := range []struct{ w, h, fps, frames, threads int }{
		{832, 480, 16, 77, 1}, {64, 48, 16, 1, 1}, {64, 48, 24, 81, 2}, {130, 98, 30, 61, 1}, {2, 2, 7, 3, 1}, {320, 180, 60, 125, 1},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "v.mp4")
			o := media.MP4Options{FFmpeg: media.FFmpeg{Threads: tt.threads}, Dest: dest, Width: tt.w, Height: tt.h, FPS: tt.fps}
			info := encode(t, o, tt.frames)
			b, err := os.ReadFile(dest)
			if err != nil {
				t.Fatal(err)
			}
			if info.Frames != tt.frames || info.SizeBytes != int64(len(b)) || info.SHA256 != sha(b) {
				t.Errorf("info %+v of %d bytes", info, len(b))
			}
			checkMP4(t, dest, tt.w, tt.h, tt.fps, tt.frames)
			onlyFile(t, dest)
		})
	}
}

// TestMP4SaysItsComment writes a comment, also into a file that is joined.
func TestMP4SaysItsComment(t *testing.T) {
	needFFmpeg(t)
	const text = "telefuser: weights random:7"
	dir := t.TempDir()
	part, whole := filepath.Join(dir, "part.mp4"), filepath.Join(dir, "whole.mp4")
	encode(t, media.MP4Options{Dest: part, Width: 64, Height: 48, FPS: 16, Comment: text}, 2)
	if _, err := media.ConcatMP4(t.Context(), media.ConcatOptions{Dest: whole, Comment: text}, part, part); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{part, whole} {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(text)) {
			t.Errorf("%s says nothing of it: %v", filepath.Base(path), err)
		}
	}
}

// onlyFile fails when something else lies beside path.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestMP4OfTheSameFramesHasTheSameBytes(t *testing.T) {
	needFFmpeg(t)
	for _, threads := range []int{1, 2} {
		var sums []string
		for range 2 {
			o := media.MP4Options{FFmpeg: media.FFmpeg{Threads: threads}, Dest: filepath.Join(t.TempDir(), "v.mp4"), Width: 320, Height: 240, FPS: 16}
			sums = append(sums, encode(t, o, 40).SHA256)
		}
		if sums[0] != sums[1] {
			t.Errorf("%d threads: two files differ", threads)
		}
	}
}

func TestMP4ShowsTheColoursThatWentIn(t *testing.T) {
	needFFmpeg(t)
	dest := filepath.Join(t.TempDir(), "v.mp4")
	w, err := media.NewMP4Writer(t.Context(), media.MP4Options{Dest: dest, Width: 64, Height: 64, FPS: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for range 5 {
		if err := w.Write(flat(64, 64, 200, 60, 30)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// Another decoder and another converter than ours, told nothing but what the file says.
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", dest, "-frames:v", "1", "-vf", "scale=flags=accurate_rnd",
		"-pix_fmt", "rgb24", "-f", "rawvideo", "pipe:1").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !near(out[:3], []byte{200, 60, 30}, 3) {
		t.Errorf("the picture is %v", out[:3])
	}
}

func near(got, want []byte, by int) bool {
	for i := range want {
		if d := int(got[i]) - int(want[i]); d > by || d < -by {
			return false
		}
	}
	return true
}

func TestMP4WriterRefusesWhatDoesNotFit(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	good := media.MP4Options{Dest: filepath.Join(dir, "v.mp4"), Width: 64, Height: 48, FPS: 16}
	for name, change := range map[string]func(*media.MP4Options){
		"odd width":  func(o *media.MP4Options) { o.Width = 63 },
		"odd height": func(o *media.MP4Options) { o.Height = 47 },
		"both odd":   func(o *media.MP4Options) { o.Width, o.Height = 63, 47 },
		"no width":   func(o *media.MP4Options) { o.Width = 0 },
		"huge":       func(o *media.MP4Options) { o.Width = 10000 },
		"no rate":    func(o *media.MP4Options) { o.FPS = 0 },
		"a preset":   func(o *media.MP4Options) { o.Preset = "-vf movie=/etc/passwd" },
		"a quality":  func(o *media.MP4Options) { o.CRF = 99 },
	} {
		o := good
		change(&o)
		if _, err := media.NewMP4Writer(t.Context(), o); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w, err := media.NewMP4Writer(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(media.NewFrame(32, 32)); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("another size: %v", err)
	}
	if _, err := w.Close(); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("no frames: %v", err)
	}
	if err := w.Write(media.NewFrame(64, 48)); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("write after close: %v", err)
	}
	onlyFile(t, filepath.Join(dir, "nothing"))

	if err := os.WriteFile(good.Dest, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := media.NewMP4Writer(t.Context(), good); !errors.Is(err, os.ErrExist) {
		t.Errorf("over an existing file: %v", err)
	}
}

func TestMP4WriterLeavesNothingWhenItIsStopped(t *testing.T) {
	needFFmpeg(t)
	for name, stop := range map[string]func(cancel context.CancelCauseFunc, w *media.MP4Writer){
		"aborted":       func(_ context.CancelCauseFunc, w *media.MP4Writer) { w.Abort(); w.Abort() },
		"context ended": func(cancel context.CancelCauseFunc, _ *media.MP4Writer) { cancel(errLeaseLost) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			dest := filepath.Join(t.TempDir(), "v.mp4")
			w, err := media.NewMP4Writer(ctx, media.MP4Options{Dest: dest, Width: 320, Height: 240, FPS: 16})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				if err := w.Write(scene(320, 240, i)); err != nil {
					t.Fatal(err)
				}
			}
			stop(cancel, w)
			if ctx.Err() != nil {
				// The next writes run into the dead encoder; they must end and say why.
				deadline := time.Now().Add(10 * time.Second)
				for err == nil && time.Now().Before(deadline) {
					err = w.Write(scene(320, 240, 5))
				}
				if !errors.Is(err, errLeaseLost) {
					t.Errorf("write: %v", err)
				}
			}
			if _, err := w.Close(); err == nil {
				t.Error("close after the stop makes a file")
			}
			w.Abort()
			onlyFile(t, filepath.Join(filepath.Dir(dest), "nothing"))
		})
	}
}

var errLeaseLost = errors.New("lease lost")

func TestMP4WriterSaysWhyTheEncoderEnded(t *testing.T) {
	needFFmpeg(t)
	fake := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho 'av_interleaved_write_frame(): No space left on device' >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(t.TempDir(), "v.mp4")
	w, err := media.NewMP4Writer(t.Context(), media.MP4Options{FFmpeg: media.FFmpeg{Path: fake}, Dest: dest, Width: 320, Height: 240, FPS: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	deadline := time.Now().Add(10 * time.Second)
	for err == nil && time.Now().Before(deadline) {
		err = w.Write(scene(320, 240, 0))
	}
	if !errors.Is(err, media.ErrNoSpace) {
		t.Errorf("write: %v", err)
	}
	_, err = media.NewMP4Writer(t.Context(), media.MP4Options{FFmpeg: media.FFmpeg{Path: "/no/such/ffmpeg"}, Dest: dest, Width: 320, Height: 240, FPS: 16})
	if !errors.Is(err, media.ErrEncoder) || !strings.Contains(err.Error(), "apt-get install ffmpeg") {
		t.Errorf("no ffmpeg: %v", err)
	}
	w.Abort()
	onlyFile(t, filepath.Join(filepath.Dir(dest), "nothing"))
}

func TestMP4WriterNoticesAnEncoderThatLoses(t *testing.T) {
	needFFmpeg(t)
	real, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]string{
		"a frame":           `exec ` + real + ` -t 0.5 "$@"`,
		"the index's place": `exec ` + real + ` $(echo "$@" | sed 's/-movflags +faststart//')`,
		"its clock":         `exec ` + real + ` $(echo "$@" | sed 's/-movie_timescale [0-9]*//')`,
		"no B-frames":       `exec ` + real + ` $(echo "$@" | sed 's/-bf 0/-bf 2/')`,
		"everything":        `cat >/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			fake := filepath.Join(t.TempDir(), "ffmpeg")
			// The writer gives no environment; the tools of the script are asked from where they always are.
			script := "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin\n" + change + "\n"
			if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			dest := filepath.Join(t.TempDir(), "v.mp4")
			w, err := media.NewMP4Writer(t.Context(), media.MP4Options{FFmpeg: media.FFmpeg{Path: fake}, Dest: dest, Width: 64, Height: 48, FPS: 16})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort()
			for i := range 13 {
				if err := w.Write(scene(64, 48, i)); err != nil {
					break
				}
			}
			if _, err := w.Close(); !errors.Is(err, media.ErrEncoder) {
				t.Errorf("close: %v", err)
			}
			onlyFile(t, filepath.Join(filepath.Dir(dest), "nothing"))
		})
	}
}

func TestConcatJoinsWithoutALossOfFrames(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	var parts []string
	total := 0
	for i, frames := range []int{77, 1, 32, 45} {
		part := filepath.Join(dir, fmt.Sprintf("it's part %d.mp4", i))
		encode(t, media.MP4Options{Dest: part, Width: 96, Height: 64, FPS: 16}, frames)
		parts, total = append(parts, part), total+frames
	}
	dest := filepath.Join(t.TempDir(), "joined.mp4")
	info, err := media.ConcatMP4(t.Context(), media.ConcatOptions{Dest: dest}, parts...)
	if err != nil {
		t.Fatal(err)
	}
	if info.Frames != total {
		t.Errorf("%d frames, want %d", info.Frames, total)
	}
	checkMP4(t, dest, 96, 64, 16, total)
	onlyFile(t, dest)
	if got, want := decodedFrames(t, dest, "yuv420p"), append(append(append(decodedFrames(t, parts[0], "yuv420p"), decodedFrames(t, parts[1], "yuv420p")...),
		decodedFrames(t, parts[2], "yuv420p")...), decodedFrames(t, parts[3], "yuv420p")...); !bytes.Equal(got, want) {
		t.Error("the joined pictures are other ones")
	}
	// A joined file is joined again.
	again := filepath.Join(t.TempDir(), "again.mp4")
	if _, err := media.ConcatMP4(t.Context(), media.ConcatOptions{Dest: again}, dest, parts[1]); err != nil {
		t.Fatal(err)
	}
	checkMP4(t, again, 96, 64, 16, total+1)
}

// decodedFrames asks ffmpeg for the pixels of a file.
func decodedFrames(t *testing.T, path, pixels string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", path, "-pix_fmt", pixels, "-f", "rawvideo", "pipe:1").Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConcatRefusesWhatDoesNotFit(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	make := func(name string, o media.MP4Options) string {
		o.Dest = filepath.Join(dir, name)
		encode(t, o, 5)
		return o.Dest
	}
	good := make("good.mp4", media.MP4Options{Width: 64, Height: 48, FPS: 16})
	list := filepath.Join(dir, "list.mp4")
	if err := os.WriteFile(list, []byte("ffconcat version 1.0\nfile /etc/passwd\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.mp4")
	if err := os.WriteFile(cut, whole[:len(whole)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]string{
		"another size": make("size.mp4", media.MP4Options{Width: 48, Height: 64, FPS: 16}),
		"another rate": make("rate.mp4", media.MP4Options{Width: 64, Height: 48, FPS: 24}),
		"no MP4":       list,
		"half an MP4":  cut,
	} {
		dest := filepath.Join(t.TempDir(), "joined.mp4")
		if _, err := media.ConcatMP4(t.Context(), media.ConcatOptions{Dest: dest}, good, part); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%s: %v", name, err)
		}
		onlyFile(t, filepath.Join(filepath.Dir(dest), "nothing"))
	}
	if _, err := media.ConcatMP4(t.Context(), media.ConcatOptions{Dest: filepath.Join(dir, "x.mp4")}); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("no parts: %v", err)
	}
}

func TestThumbnailKeepsProportionsAndColours(t *testing.T) {
	needFFmpeg(t)
	for _, tt := range []struct{ w, h, maxSide, wantW, wantH int }{
		{832, 480, 320, 320, 185}, {480, 832, 320, 185, 320}, {64, 48, 320, 64, 48}, {1920, 2, 100, 100, 1},
	} {
		b, err := media.Thumbnail(t.Context(), media.FFmpeg{}, flat(tt.w, tt.h, 30, 160, 220), tt.maxSide)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := webp.DecodeConfig(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Width != tt.wantW || cfg.Height != tt.wantH {
			t.Errorf("%dx%d became %dx%d", tt.w, tt.h, cfg.Width, cfg.Height)
		}
		if got := decodedFrames(t, saved(t, b), "rgb24")[:3]; !near(got, []byte{30, 160, 220}, 5) {
			t.Errorf("%dx%d: the colour is %v", tt.w, tt.h, got)
		}
		// Our own decoder sees lossy WebPs as others do.
		if img, err := media.DecodeImage(t.Context(), bytes.NewReader(b), media.ImageLimits{}); err != nil || !near(img.RGB[:3], []byte{30, 160, 220}, 5) {
			t.Errorf("%dx%d: our decoder: %v", tt.w, tt.h, err)
		}
	}
	if _, err := media.Thumbnail(t.Context(), media.FFmpeg{}, media.Frame{}, 320); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("no frame: %v", err)
	}
}

// saved writes a file for tools that cannot read pipes.
func saved(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "picture")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rgbAt(img image.Image, x, y int) []byte {
	r, g, b, _ := img.At(x, y).RGBA()
	return []byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)}
}

func TestCheckEncoder(t *testing.T) {
	needFFmpeg(t)
	if err := media.CheckEncoder(t.Context(), ""); err != nil {
		t.Error(err)
	}
	real, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{"libx264", "libwebp"} {
		fake := filepath.Join(t.TempDir(), "ffmpeg")
		script := "#!/bin/sh\ncase \"$*\" in *" + missing + "*) echo \"Unknown encoder '" + missing + "'\" >&2; exit 1;; esac\nexec " + real + " \"$@\"\n"
		if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		err := media.CheckEncoder(t.Context(), fake)
		if !errors.Is(err, media.ErrEncoder) || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "apt-get install ffmpeg") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	if err := media.CheckEncoder(t.Context(), "/no/such/ffmpeg"); !errors.Is(err, media.ErrEncoder) || strings.Count(err.Error(), "apt-get install ffmpeg") != 1 {
		t.Errorf("without ffmpeg: %v", err)
	}
}
