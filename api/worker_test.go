package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers/contract"
)

// finisher is a worker that claims jobs and completes each with files that are there already: all states, no rendering.
type finisher struct {
	// hold, when set, is received from before a job is completed.
	hold chan struct{}
	// fail, when set, ends jobs with it.
	fail *jobs.Failure
	// facts are what it reports.
	facts jobs.Facts
}

// work runs a finisher until the test ends.
func (s *stack) work(t testing.TB, f finisher) {
	t.Helper()
	clip := tinyClip(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	consumer, err := s.jobs.NewConsumer(jobs.ConsumerConfig{Pipeline: "terrain", Owner: "test-worker", DrainTimeout: -1}, func(ctx context.Context, claim *jobs.Claim) {
		s.finish(ctx, t, claim, f, clip)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.jobs.Heartbeat(ctx, jobs.WorkerInfo{Owner: "test-worker", Pipeline: "terrain", Slots: 1, Devices: []string{"cpu"}}); err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { _ = consumer.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
}

func (s *stack) finish(ctx context.Context, t testing.TB, claim *jobs.Claim, f finisher, clip []byte) {
	t.Helper()
	outlives := context.WithoutCancel(ctx)
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		_, _ = claim.Requeue(outlives, jobs.CauseDraining)
		return
	}
	if f.fail != nil {
		_ = claim.Fail(outlives, *f.fail)
		return
	}
	base := "videos/" + claim.ID + "/" + strconv.Itoa(claim.Attempt) + "/"
	spec := claim.Job.Spec
	r := jobs.Result{VideoKey: base + "video.mp4", ThumbnailKey: base + "thumbnail.webp", SpritesheetKey: base + "spritesheet.jpg", ManifestKey: base + "manifest.json",
		SizeBytes: int64(len(clip)), Frames: spec.Frames, Seconds: spec.Seconds, State: []byte("end"), Facts: f.facts}
	if spec.Task == contract.TaskExtend {
		r.Frames += spec.Source.Frames
	}
	files := map[string][]byte{r.VideoKey: clip, r.ThumbnailKey: []byte("RIFF....WEBP"), r.SpritesheetKey: []byte("\xff\xd8\xff sheet"), r.ManifestKey: []byte("{}")}
	for key, data := range files {
		if _, err := s.store.Put(outlives, key, bytes.NewReader(data), storage.PutOptions{SizeBytes: -1}); err != nil {
			t.Errorf("put %s: %v", key, err)
		}
	}
	if err := claim.Complete(outlives, r); err != nil {
		for key := range files {
			_ = s.store.Delete(outlives, key)
		}
	}
}

// tinyClip is a real MP4, made once.
func tinyClip(t testing.TB) []byte {
	t.Helper()
	clip, err := makeClip()
	if err != nil {
		t.Fatal(err)
	}
	return clip
}

var makeClip = sync.OnceValues(func() ([]byte, error) {
	out, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=16:duration=1", "-c:v", "libx264", "-pix_fmt", "yuv420p",
		"-movflags", "frag_keyframe+empty_moov", "-f", "mp4", "-").Output()
	if err != nil {
		return nil, fmt.Errorf("ffmpeg: %w", err)
	}
	return out, nil
})

// testPNG is a real picture of a size.
func testPNG(t testing.TB, width, height int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetRGBA(x, y, color.RGBA{uint8(x), uint8(y), uint8(x ^ y), 255})
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// testImage is a picture of another type.
func testImage(t testing.TB, width, height int, codec, extension string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in."+extension)
	size := strconv.Itoa(width) + "x" + strconv.Itoa(height)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size="+size, "-frames:v", "1", "-c:v", codec, path).CombinedOutput()
	if err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	return readFile(t, path)
}

func dataURL(data []byte) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(data)
}
