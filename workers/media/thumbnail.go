package media

import "context"

// Thumbnail makes a WebP picture of the frame whose longer side is at most maxSide pixels.
func Thumbnail(ctx context.Context, ff FFmpeg, f Frame, maxSide int) ([]byte, error) { panic("in work") }
