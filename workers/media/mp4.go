package media

import "context"

// MP4Options shapes one MP4 file.
type MP4Options struct {
	FFmpeg
	// Dest is the file to make; it must not exist, and it appears only whole, when Close succeeds. Temporary files lie in its folder.
	Dest string
	// Width and Height are even numbers of pixels, FPS a whole number of frames a second.
	Width, Height, FPS int
	// Preset is x264's speed; "" means DefaultPreset. CRF is its quality, 0 means DefaultCRF.
	Preset string
	CRF    int
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
type MP4Writer struct{}

// NewMP4Writer starts the encoder. The child is killed when ctx ends.
func NewMP4Writer(ctx context.Context, o MP4Options) (*MP4Writer, error) { panic("in work") }

// Write appends one frame. It blocks while the encoder is behind.
func (w *MP4Writer) Write(f Frame) error { panic("in work") }

// Close finishes the file, verifies it and moves it to its place.
func (w *MP4Writer) Close() (MP4Info, error) { panic("in work") }

// Abort stops the encoder and leaves nothing behind. After Close it does nothing, so that it can be deferred.
func (w *MP4Writer) Abort() { panic("in work") }

// ConcatMP4 joins files made by MP4Writer with equal geometry and rate into o.Dest without encoding them again.
func ConcatMP4(ctx context.Context, o ConcatOptions, parts ...string) (MP4Info, error) { panic("in work") }

// ConcatOptions shapes a joined file.
type ConcatOptions struct {
	FFmpeg
	// Dest is the file to make, as in MP4Options.
	Dest string
}
