package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// probeTimeout bounds the look at ffmpeg. It answers in some 100 ms, but a machine whose processes all start at once gives it no processor for long.
const probeTimeout = time.Minute

// CheckEncoder answers nil when ffmpeg runs and really encodes what the room needs: H.264 by libx264 and WebP by libwebp. Otherwise the error
// wraps ErrEncoder and names the package to install. Readiness calls it once at start.
func CheckEncoder(ctx context.Context, ffmpegPath string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	frame := NewFrame(probeSide, probeSide)
	for _, need := range []struct {
		encoder string
		args    []string
	}{
		{"libx264", []string{"-c:v", "libx264", "-preset", "ultrafast", "-f", "h264"}},
		{"libwebp", []string{"-c:v", "libwebp", "-f", "image2pipe"}},
	} {
		args := append(rawInput(pixI420, probeSide, probeSide, 1), need.args...)
		var out bytes.Buffer
		err := runChild(ctx, FFmpeg{Path: ffmpegPath}, os.TempDir(), append(args, "pipe:1"), bytes.NewReader(frame.Data), &out)
		switch {
		case errors.Is(err, errNotStarted):
			return err
		case err != nil:
			return fmt.Errorf("%w (needed is an ffmpeg with %s; %s)", err, need.encoder, ffmpegAdvice)
		case out.Len() == 0:
			return fmt.Errorf("%w: ffmpeg encodes nothing with %s (%s)", ErrEncoder, need.encoder, ffmpegAdvice)
		}
	}
	return nil
}

// probeSide is the size of the picture that is encoded on trial.
const probeSide = 16
