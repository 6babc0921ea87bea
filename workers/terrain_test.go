package workers_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"telefuser/jobs"
	"telefuser/storage"
)

// TestTerrainFromPictureToExtension goes the way of a user: a picture, its video, the same again, a remix, an edit and an extension.
func TestTerrainFromPictureToExtension(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Pipeline, b.Words, b.Stall = "terrain", "terrain", patience
	b.worker(nil)
	const width, height = 160, 96
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		x, y := i%width, i/width
		picture.Set(x, y, color.RGBA{R: uint8(x), G: uint8(2 * y), B: 90, A: 255})
	}
	var raw bytes.Buffer
	if err := png.Encode(&raw, picture); err != nil {
		t.Fatal(err)
	}
	spec := b.spec("islands in the evening")
	spec.Task, spec.Width, spec.Height, spec.ImageKey = "i2v", width, height, "inputs/video_x/reference.png"
	spec.Camera = []byte(`{"controls":[{"at":0,"keys":"w"},{"at":1,"keys":"wj"}]}`)
	if _, err := b.files.Put(t.Context(), spec.ImageKey, &raw, storage.PutOptions{SizeBytes: -1}); err != nil {
		t.Fatal(err)
	}
	first := b.completed(b.create(spec))
	if got := b.probe(first.Result.VideoKey); got != "h264,160,96,yuv420p,16/1,45" {
		t.Errorf("ffprobe: %s", got)
	}
	if len(first.Result.State) == 0 {
		t.Error("there is nothing to continue from")
	}
	if again := b.completed(b.create(spec)); again.Result.SHA256 != first.Result.SHA256 {
		t.Error("the same request gave other bytes")
	}
	source := &jobs.Source{ID: first.ID, VideoKey: first.Result.VideoKey, State: first.Result.State, Frames: 45}
	for _, task := range []string{"remix", "edit"} {
		changed := spec
		changed.Task, changed.WorldPrompt, changed.Prompt, changed.Source = task, spec.Prompt, "in deep snow", source
		if job := b.completed(b.create(changed)); job.Result.SHA256 == first.Result.SHA256 || job.Result.Frames != 45 {
			t.Errorf("%s: %d frames, same bytes %t", task, job.Result.Frames, job.Result.SHA256 == first.Result.SHA256)
		}
	}
	longer := spec
	longer.Task, longer.WorldPrompt, longer.Source, longer.Frames, longer.Camera = "extend", spec.Prompt, source, 32, nil
	if job := b.completed(b.create(longer)); b.probe(job.Result.VideoKey) != "h264,160,96,yuv420p,16/1,77" {
		t.Errorf("extension: %s", b.probe(job.Result.VideoKey))
	}
}

func TestAMissingPictureIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.worker(nil)
	spec := b.spec("gone")
	spec.ImageKey = "inputs/gone/reference.png"
	if job := b.ended(b.create(spec)); job.Failure == nil || job.Failure.Code != jobs.CodeSourceMissing {
		t.Errorf("%s, %+v", job.State, job.Failure)
	}
	spec.ImageKey = "inputs/broken/reference.png"
	if _, err := b.files.Put(t.Context(), spec.ImageKey, bytes.NewReader([]byte("no picture")), storage.PutOptions{SizeBytes: -1}); err != nil {
		t.Fatal(err)
	}
	if job := b.ended(b.create(spec)); job.Failure == nil || job.Failure.Code != jobs.CodeInvalid {
		t.Errorf("%s, %+v", job.State, job.Failure)
	}
}
