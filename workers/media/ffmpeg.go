package media

import "context"

// FFmpeg says which ffmpeg is run and with how much of the machine.
type FFmpeg struct {
	// Path of the program; "" means ffmpeg on PATH.
	Path string
	// Threads is how many threads the encoder uses; 0 means 1. The same frames give the same bytes only for the same number.
	Threads int
}

// CheckEncoder answers nil when ffmpeg runs and has what the room needs: libx264 and libwebp. Otherwise the error wraps ErrEncoder and names
// the package to install. It takes some 50 ms: readiness calls it once at start.
func CheckEncoder(ctx context.Context, ffmpegPath string) error { panic("in work") }
