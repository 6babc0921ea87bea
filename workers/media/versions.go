package media

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
)

// Versions are those of what this room runs, for operators. An empty one is not installed or does not tell.
type Versions struct {
	FFmpeg, VPX, Opus string
}

// ReadVersions asks ffmpeg, libvpx and libopus; whether they do what is needed is for CheckEncoder, CheckVP8 and CheckOpus.
func ReadVersions(ctx context.Context, ffmpegPath string) Versions {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var v Versions
	var out bytes.Buffer
	if err := runChild(ctx, FFmpeg{Path: ffmpegPath}, os.TempDir(), []string{"-version"}, nil, &out); err == nil {
		v.FFmpeg = ffmpegVersion(out.String())
	}
	if lib, err := loadVPX(); err == nil {
		v.VPX = fmt.Sprintf("%s (%s)", strings.TrimPrefix(cString(lib.versionText.call()), "v"), lib.name)
	}
	if lib, err := loadOpus(); err == nil {
		v.Opus = strings.TrimPrefix(cString(lib.version.call()), "libopus ")
	}
	return v
}

// ffmpegVersion takes the version out of "ffmpeg version 5.1.9-0+deb12u1 Copyright ...".
func ffmpegVersion(said string) string {
	words := strings.Fields(said)
	if len(words) < 3 || words[0] != "ffmpeg" || words[1] != "version" {
		return ""
	}
	return words[2]
}
