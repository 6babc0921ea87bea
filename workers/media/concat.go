package media

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ConcatOptions shapes a joined file.
type ConcatOptions struct {
	FFmpeg
	// Dest is the file to make, as in MP4Options.
	Dest string
	// Comment is written into the file; "" writes none.
	Comment string
}

// partsMax bounds how many files are joined at once.
const partsMax = 1000

// ConcatMP4 joins files made by MP4Writer with equal geometry, rate and quality into o.Dest without encoding them again. Files that do not
// fit together, or are none of ours, give ErrGeometry.
func ConcatMP4(ctx context.Context, o ConcatOptions, parts ...string) (MP4Info, error) {
	if len(parts) == 0 || len(parts) > partsMax {
		return MP4Info{}, fmt.Errorf("%w: %d files to join, allowed are 1 to %d", ErrGeometry, len(parts), partsMax)
	}
	want, err := jointFacts(parts)
	if err != nil {
		return MP4Info{}, err
	}
	work, err := newWorkDir(o.Dest)
	if err != nil {
		return MP4Info{}, err
	}
	defer func() { _ = work.remove() }()
	list, err := linkParts(work.dir, parts)
	if err != nil {
		return MP4Info{}, err
	}
	args := []string{
		"-protocol_whitelist", "file", "-f", "concat", "-safe", "1", "-i", "file:" + list,
		"-map_metadata", "-1", "-fflags", "+bitexact", "-c", "copy",
	}
	if err := runChild(ctx, o.FFmpeg, work.dir, append(append(args, commentArgs(o.Comment)...), mp4Output(want.fps)...), nil, nil); err != nil {
		return MP4Info{}, err
	}
	return work.publish(want)
}

// jointFacts says what the joined file must hold.
func jointFacts(parts []string) (mp4Want, error) {
	var first mp4Facts
	var want mp4Want
	for i, part := range parts {
		facts, err := readPart(part)
		if err != nil {
			return mp4Want{}, err
		}
		fps := facts.mediaTimescale / ticksPerFrame
		if facts.mediaTimescale != fps*ticksPerFrame || facts.mediaDuration != uint64(facts.frames)*ticksPerFrame {
			return mp4Want{}, fmt.Errorf("%w: part %d was not made here: it lasts %d/%d s", ErrGeometry, i, facts.mediaDuration, facts.mediaTimescale)
		}
		if i == 0 {
			first = facts
			want = mp4Want{width: facts.width, height: facts.height, fps: int(fps)}
		}
		// The decoder's configuration holds the size too.
		if facts.mediaTimescale != first.mediaTimescale || !bytes.Equal(facts.avcC, first.avcC) {
			return mp4Want{}, fmt.Errorf("%w: part %d has another size, rate or encoding than part 0", ErrGeometry, i)
		}
		want.frames += facts.frames
	}
	return want, nil
}

func readPart(path string) (mp4Facts, error) {
	file, err := os.Open(path)
	if err != nil {
		return mp4Facts{}, fmt.Errorf("media: part: %w", err)
	}
	defer file.Close()
	facts, err := readMP4(file)
	if err != nil {
		return mp4Facts{}, fmt.Errorf("%w: %s: %v", ErrGeometry, filepath.Base(path), err)
	}
	return facts, nil
}

// linkParts gives the parts names of ours in the folder, because no foreign name may stand in ffmpeg's list, and writes the list.
func linkParts(dir string, parts []string) (string, error) {
	list := strings.Builder{}
	list.WriteString("ffconcat version 1.0\n")
	for i, part := range parts {
		abs, err := filepath.Abs(part)
		if err != nil {
			return "", fmt.Errorf("media: part: %w", err)
		}
		name := fmt.Sprintf("part%04d.mp4", i)
		if err := os.Symlink(abs, filepath.Join(dir, name)); err != nil {
			return "", spaceError(fmt.Errorf("media: part: %w", err))
		}
		fmt.Fprintf(&list, "file %s\n", name)
	}
	if err := os.WriteFile(filepath.Join(dir, "parts.txt"), []byte(list.String()), 0o600); err != nil {
		return "", spaceError(fmt.Errorf("media: list of parts: %w", err))
	}
	return "parts.txt", nil
}
