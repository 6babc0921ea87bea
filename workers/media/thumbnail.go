package media

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// thumbnailQuality is libwebp's, of 100.
const thumbnailQuality = "80"

// Thumbnail makes a WebP picture of the frame, with its proportions, whose longer side is at most maxSide pixels.
func Thumbnail(ctx context.Context, ff FFmpeg, f Frame, maxSide int) ([]byte, error) {
	if maxSide < 1 || len(f.Data) != FrameBytes(f.Width, f.Height) || len(f.Data) == 0 {
		return nil, fmt.Errorf("%w: a thumbnail of %d pixels from %d x %d", ErrGeometry, maxSide, f.Width, f.Height)
	}
	// The way leads through RGB: WebP's own planes follow another matrix than a video's.
	w, h := fit(f.Width, f.Height, maxSide)
	img := Resize(ToRGB(f), w, h)
	args := append(rawInput("rgb24", w, h, 1),
		"-frames:v", "1", "-map_metadata", "-1", "-fflags", "+bitexact", "-pix_fmt", "bgra", "-c:v", "libwebp", "-quality", thumbnailQuality,
		"-f", "image2pipe", "pipe:1")
	var out bytes.Buffer
	if err := runChild(ctx, ff, os.TempDir(), args, bytes.NewReader(img.RGB), &out); err != nil {
		return nil, err
	}
	if out.Len() == 0 {
		return nil, fmt.Errorf("%w: ffmpeg made no thumbnail", ErrEncoder)
	}
	return out.Bytes(), nil
}

// fit scales down to a longer side of at most maxSide; nothing is enlarged and no side vanishes.
func fit(width, height, maxSide int) (w, h int) {
	longer := max(width, height)
	if longer <= maxSide {
		return width, height
	}
	scale := func(side int) int { return max(1, (side*maxSide+longer/2)/longer) }
	return scale(width), scale(height)
}
