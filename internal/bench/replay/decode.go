package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"telefuser/internal/bench/viewer"
)

// digest names a decoded picture.
type digest [sha256.Size]byte

// decode shows the frames to a decoder and answers a digest of every picture, in order. The first frame must be one that decoding can begin with.
func decode(ctx context.Context, ffmpeg string, frames []viewer.Frame, width, height int) ([]digest, error) {
	// Passthrough: a decoder that is asked for a constant rate doubles and drops by itself.
	cmd := exec.CommandContext(ctx, ffmpeg, "-v", "error", "-nostdin", "-f", "ivf", "-i", "pipe:0", "-fps_mode", "passthrough", "-f", "rawvideo",
		"-pix_fmt", "yuv420p", "pipe:1")
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(viewer.IVF(frames, width, height)), &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("replay: decode: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("replay: decode: %w", err)
	}
	pictures, readErr := digests(out, width*height*3/2)
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("replay: decode: %w: %s", err, complaint.Bytes())
	}
	if complaint.Len() > 0 {
		return nil, fmt.Errorf("replay: decode: the decoder says %s", complaint.Bytes())
	}
	return pictures, readErr
}

// digests reads pictures of a fixed size to the end.
func digests(r io.Reader, pictureBytes int) ([]digest, error) {
	var out []digest
	picture := make([]byte, pictureBytes)
	for {
		_, err := io.ReadFull(r, picture)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("replay: decode: half a picture behind %d: %w", len(out), err)
		}
		out = append(out, sha256.Sum256(picture))
	}
}
