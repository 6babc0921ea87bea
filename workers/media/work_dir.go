package media

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// workFile is what ffmpeg writes in its folder.
const workFile = "out.mp4"

// workDir is a private folder beside the file to make, so that the finished file only needs a rename.
type workDir struct {
	dir, dest string
}

func newWorkDir(dest string) (*workDir, error) {
	if err := checkFree(dest); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(dest), ".mp4-")
	if err != nil {
		return nil, spaceError(fmt.Errorf("media: work folder: %w", err))
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("media: work folder: %w", err)
	}
	return &workDir{dir: dir, dest: dest}, nil
}

// checkFree refuses to overwrite.
func checkFree(dest string) error {
	_, err := os.Lstat(dest)
	if err == nil {
		return fmt.Errorf("media: %s: %w", dest, os.ErrExist)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("media: %w", err)
	}
	return nil
}

// spaceError makes a full disk an ErrNoSpace.
func spaceError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %v", ErrNoSpace, err)
	}
	return err
}

// mp4Want is what a finished file must hold.
type mp4Want struct {
	width, height, fps, frames int
}

// publish checks the finished file, measures it, makes it durable and moves it to its place.
func (w *workDir) publish(want mp4Want) (MP4Info, error) {
	file, err := os.Open(filepath.Join(w.dir, workFile))
	if err != nil {
		return MP4Info{}, fmt.Errorf("%w: ffmpeg left no file: %v", ErrEncoder, err)
	}
	defer file.Close()
	facts, err := readMP4(file)
	if err != nil {
		return MP4Info{}, err
	}
	if err := facts.check(want); err != nil {
		return MP4Info{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return MP4Info{}, fmt.Errorf("media: read the finished file: %w", err)
	}
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return MP4Info{}, spaceError(fmt.Errorf("media: read the finished file: %w", err))
	}
	if err := checkFree(w.dest); err != nil {
		return MP4Info{}, err
	}
	if err := os.Rename(file.Name(), w.dest); err != nil {
		return MP4Info{}, spaceError(fmt.Errorf("media: %w", err))
	}
	return MP4Info{SizeBytes: size, SHA256: hex.EncodeToString(sum.Sum(nil)), Frames: want.frames}, nil
}

func (w *workDir) remove() error { return os.RemoveAll(w.dir) }
