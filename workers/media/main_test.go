package media_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"telefuser/workers/media"
)

// parentDir turns this test binary into a parent that starts the encoder of the directory and waits to be killed.
var parentDir = flag.String("parent", "", "directory of the parent mode")

func TestMain(m *testing.M) {
	flag.Parse()
	if *parentDir != "" {
		actAsParent(*parentDir)
	}
	goleak.VerifyTestMain(m)
}

func actAsParent(dir string) {
	o := media.MP4Options{
		FFmpeg: media.FFmpeg{Path: filepath.Join(dir, "ffmpeg")}, Dest: filepath.Join(dir, "v.mp4"), Width: 64, Height: 48, FPS: 16,
	}
	if _, err := media.NewMP4Writer(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}
