// Command encoder stands in for ffmpeg where a bench makes thousands of videos: starting ffmpeg twice for each takes most of a job's processor time. It lets ffmpeg encode
// one video of each size and length, and answers with that one, followed by a box that names the frames it was given: two videos of one request are equal, byte by byte, and
// others are not.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := encode(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// encode writes to the last argument, file:PATH or pipe:1.
func encode(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 || args[len(args)-1] == "-version" {
		_, err := fmt.Fprintln(out, "ffmpeg version stand-in")
		return err
	}
	frames, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	name := []byte(fmt.Sprintf("%x", sha256.Sum256(frames)))
	path, isFile := strings.CutPrefix(args[len(args)-1], "file:")
	if !isFile {
		_, err = out.Write(name)
		return err
	}
	video, err := pattern(args, frames)
	if err != nil {
		return err
	}
	free := binary.BigEndian.AppendUint32(nil, uint32(8+len(name)))
	return os.WriteFile(path, bytes.Join([][]byte{video, free, []byte("free"), name}, nil), 0o600)
}

// pattern is what ffmpeg makes of so many frames, kept beside this program.
func pattern(args []string, frames []byte) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%d %q", len(frames), args))
	kept := filepath.Join(filepath.Dir(self), fmt.Sprintf("pattern-%x.mp4", key[:8]))
	video, err := os.ReadFile(kept)
	if !errors.Is(err, fs.ErrNotExist) {
		return video, err
	}
	cmd := exec.Command("/usr/bin/env", append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "ffmpeg"}, args...)...)
	// Black frames, so that the pattern is the same whoever makes it.
	cmd.Stdin, cmd.Stderr = bytes.NewReader(make([]byte, len(frames))), os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	fresh := fmt.Sprintf("%s.%d", kept, os.Getpid())
	made := strings.TrimPrefix(args[len(args)-1], "file:")
	if video, err = os.ReadFile(made); err != nil {
		return nil, err
	}
	if err := os.WriteFile(fresh, video, 0o600); err != nil {
		return nil, err
	}
	return video, os.Rename(fresh, kept)
}
