package media

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// The encoder's defaults: x264's third fastest preset at a quality at which its blocks are not seen. docs/benchmarks.md has the figures.
const (
	DefaultPreset = "veryfast"
	DefaultCRF    = 20
)

const (
	// fpsMax and sideMax bound what is encoded.
	fpsMax  = 240
	sideMax = 8192
	// ticksPerFrame makes every time in a file a whole number: its clock runs at FPS x ticksPerFrame.
	ticksPerFrame = 512
	// keyframeSeconds is the distance between pictures that a player can jump to.
	keyframeSeconds = 2
)

// MP4Options shapes one MP4 file.
type MP4Options struct {
	FFmpeg
	// Dest is the file to make; it must not exist, and it appears only whole, when Close succeeds. Temporary files lie in its folder,
	// under names that begin with ".mp4-"; only a killed process leaves one.
	Dest string
	// Width and Height are even numbers of pixels, FPS a whole number of frames a second.
	Width, Height, FPS int
	// Comment is written into the file; "" writes none.
	Comment string
	// Preset is x264's speed; "" means DefaultPreset. CRF is its quality, from 1 (best) to 51; 0 means DefaultCRF.
	Preset string
	CRF    int
}

func presets() []string {
	return []string{"ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"}
}

func (o MP4Options) validate() error {
	switch {
	case o.Width < 2 || o.Height < 2 || o.Width > sideMax || o.Height > sideMax || o.Width%2+o.Height%2 != 0:
		return fmt.Errorf("%w: %d x %d: sides must be even and at most %d", ErrGeometry, o.Width, o.Height, sideMax)
	case o.FPS < 1 || o.FPS > fpsMax:
		return fmt.Errorf("%w: %d frames a second, allowed are 1 to %d", ErrGeometry, o.FPS, fpsMax)
	case len(o.Comment) > commentBytesMax:
		return fmt.Errorf("%w: a comment of %d bytes", ErrGeometry, len(o.Comment))
	case !slices.Contains(presets(), o.Preset) || o.CRF < 1 || o.CRF > 51:
		return fmt.Errorf("%w: preset %q, CRF %d", ErrGeometry, o.Preset, o.CRF)
	}
	return nil
}

// MP4Info describes a finished file.
type MP4Info struct {
	SizeBytes int64
	// SHA256 is in lower-case hex.
	SHA256 string
	// Frames is how many frames the file holds; its duration is Frames / FPS seconds exactly.
	Frames int
}

// MP4Writer turns frames into an H.264 MP4 through an ffmpeg child. It is used by one goroutine at a time and must end in Close or Abort.
type MP4Writer struct {
	ctx    context.Context //nolint:containedctx // the child lives as long as the writer, and no longer than this
	o      MP4Options
	work   *workDir
	child  *child
	pipe   *os.File
	frames int
	ended  bool
}

// NewMP4Writer starts the encoder. The child is killed when ctx ends.
func NewMP4Writer(ctx context.Context, o MP4Options) (*MP4Writer, error) {
	if o.Preset == "" {
		o.Preset = DefaultPreset
	}
	if o.CRF == 0 {
		o.CRF = DefaultCRF
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	work, err := newWorkDir(o.Dest)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("media: pipe to ffmpeg: %w", err), work.remove())
	}
	defer read.Close()
	c, err := startChild(ctx, o.FFmpeg, work.dir, o.args(), read, nil)
	if err != nil {
		return nil, errors.Join(err, write.Close(), work.remove())
	}
	return &MP4Writer{ctx: ctx, o: o, work: work, child: c, pipe: write}, nil
}

// pixI420 is ffmpeg's name for the layout of a Frame.
const pixI420 = "yuv420p"

// rawInput describes frames on standard input.
func rawInput(pixels string, width, height, fps int) []string {
	return []string{
		"-protocol_whitelist", "pipe", "-f", "rawvideo", "-pix_fmt", pixels, "-s", fmt.Sprintf("%dx%d", width, height),
		"-r", strconv.Itoa(fps), "-i", "pipe:0",
	}
}

// args has no B-frames, because browsers stutter on them; fixed threads, no dates and no version tags, because the same frames must give the
// same bytes; stitchable headers, because parts are joined later.
func (o MP4Options) args() []string {
	args := append(rawInput(pixI420, o.Width, o.Height, o.FPS),
		"-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact",
		"-c:v", "libx264", "-preset", o.Preset, "-crf", strconv.Itoa(o.CRF), "-pix_fmt", pixI420, "-bf", "0",
		"-g", strconv.Itoa(o.FPS*keyframeSeconds), "-threads", strconv.Itoa(o.threads()), "-x264-params", "stitchable=1",
		"-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709", "-color_range", "tv")
	return append(append(args, commentArgs(o.Comment)...), mp4Output(o.FPS)...)
}

// commentBytesMax bounds a comment.
const commentBytesMax = 256

// commentArgs write a comment into a file.
func commentArgs(text string) []string {
	if text == "" {
		return nil
	}
	return []string{"-metadata", "comment=" + text}
}

// mp4Output writes the index before the pictures, so that a download can be watched while it runs.
func mp4Output(fps int) []string {
	clock := strconv.Itoa(fps * ticksPerFrame)
	return []string{"-video_track_timescale", clock, "-movie_timescale", clock, "-movflags", "+faststart", "-f", "mp4", "file:" + workFile}
}

// Write appends one frame. It blocks while the encoder is behind.
func (w *MP4Writer) Write(f Frame) error {
	if w.ended {
		return fmt.Errorf("%w: the file is finished", ErrGeometry)
	}
	if f.Width != w.o.Width || f.Height != w.o.Height || len(f.Data) != FrameBytes(f.Width, f.Height) {
		return fmt.Errorf("%w: a frame of %d x %d for a file of %d x %d", ErrGeometry, f.Width, f.Height, w.o.Width, w.o.Height)
	}
	if _, err := w.pipe.Write(f.Data); err != nil {
		// The pipe breaks when the child ends: how it ended says more.
		w.child.stop()
		if ended := w.child.wait(w.ctx); ended != nil {
			return ended
		}
		return fmt.Errorf("%w: write to ffmpeg: %v", ErrEncoder, err)
	}
	w.frames++
	return nil
}

// Close finishes the file, verifies it and moves it to its place. On an error nothing is left behind.
func (w *MP4Writer) Close() (MP4Info, error) {
	if w.ended {
		return MP4Info{}, fmt.Errorf("%w: the file is finished", ErrGeometry)
	}
	defer w.Abort()
	if w.frames == 0 {
		return MP4Info{}, fmt.Errorf("%w: a video of no frames", ErrGeometry)
	}
	if err := w.pipe.Close(); err != nil {
		return MP4Info{}, fmt.Errorf("%w: write to ffmpeg: %v", ErrEncoder, err)
	}
	if err := w.child.wait(w.ctx); err != nil {
		return MP4Info{}, err
	}
	return w.work.publish(mp4Want{width: w.o.Width, height: w.o.Height, fps: w.o.FPS, frames: w.frames})
}

// Abort stops the encoder and leaves nothing behind. After Close it does nothing, so that it can be deferred.
func (w *MP4Writer) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	_ = w.pipe.Close()
	w.child.stop()
	_ = w.work.remove()
}

// stop kills the child, if it still runs, and returns when it is gone.
func (c *child) stop() {
	_ = c.cmd.Process.Kill()
	<-c.done
}
