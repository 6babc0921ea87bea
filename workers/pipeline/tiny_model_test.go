package pipeline_test

import (
	"bytes"
	"math"
	"testing"

	"telefuser/workers/media"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
	"telefuser/workers/models/world"
	"telefuser/workers/pipeline"
)

// tinyMakesWhatTheModelMakes puts the model's parts together by hand, with the numbers of docs/models.md, and wants the same bytes.
func tinyMakesWhatTheModelMakes(t *testing.T, p pipeline.Pipeline) {
	req := tinyRequest(29)
	req.Width, req.Height = 160, 96
	req.Prompt = "an arctic night" // the first of its words that is a look
	req.Image = &media.Image{Width: 160, Height: 96, RGB: bytes.Repeat([]byte{30, 120, 200, 90, 60, 10}, 160*96/2)}
	req.Camera = &pipeline.Camera{Controls: []pipeline.TimedControl{{AtS: 0, Keys: "wl"}, {AtS: 0.75, Keys: "k"}}}
	_, frames := drain(t, openOn(t, p, req))

	c := wan.WorldConfig{VAE: weights.TinyVAE(), DiT: weights.TinyDiT(), Width: 160, Height: 96, Chunk: 4, Sigmas: wan.Sigmas(5, 4), Settle: 8, Tilt: -0.12, Scale: 1}
	w, err := wan.NewWorld(wan.OnCPU(), weights.Random(3, c.VAE.Blueprint()), weights.Random(3, c.DiT.Blueprint()), c)
	if err != nil {
		t.Fatal(err)
	}
	picture := make([]float32, len(req.Image.RGB))
	for i, v := range req.Image.RGB {
		picture[i] = float32(v)/127.5 - 1
	}
	v, err := w.NewVideo(picture)
	if err != nil {
		t.Fatal(err)
	}
	const degree = math.Pi / 180
	camera, err := world.NewCamera(world.Steps{Move: 0.1, Lateral: 0.1, Yaw: degree, Pitch: degree / 2, Tilt: c.Tilt, PitchMin: -31 * degree, PitchMax: 17 * degree}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.Prompt(2)
	if err != nil {
		t.Fatal(err)
	}
	var got []media.Frame
	for chunk, keys := range []string{"wl", "k"} {
		if err := camera.Hold(keys); err != nil {
			t.Fatal(err)
		}
		condition, err := w.Condition(v)
		if err != nil {
			t.Fatal(err)
		}
		latents, err := w.Denoise(t.Context(), v, text, condition, camera.Next(4), wan.SeededNoise(req.Seed, int64(chunk)))
		if err != nil {
			t.Fatal(err)
		}
		planes, err := w.Frames(v, latents)
		if err != nil {
			t.Fatal(err)
		}
		for one := media.FrameBytes(160, 96); len(planes) > 0; planes = planes[one:] {
			got = append(got, media.Frame{Width: 160, Height: 96, Data: planes[:one]})
		}
	}
	if len(got) != len(frames) {
		t.Fatalf("%d frames, want %d", len(frames), len(got))
	}
	for i := range got {
		if !bytes.Equal(got[i].Data, frames[i].Data) {
			t.Fatalf("frame %d differs by %.2f of 255", i, distance(got[i], frames[i]))
		}
	}
}
