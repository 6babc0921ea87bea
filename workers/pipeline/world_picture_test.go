package pipeline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/jpeg"
	"math"
	"testing"

	"telefuser/workers/pipeline"
)

// smallGoesOn stops a live flight and goes on from its state: with the last picture, where the camera stands, by the keys that are held and the prompt that led.
func smallGoesOn(t *testing.T, p pipeline.Pipeline) {
	s := openOn(t, p, smallRequest(0))
	lake := "a frozen lake"
	control(t, s, keys("a", "w"), pipeline.Control{ID: "b", Prompt: &lake})
	next(t, s)
	before := next(t, s)
	first := func(state []byte, prompt string) pipeline.Chunk {
		req := smallRequest(0)
		req.Image, req.State, req.Prompt = nil, state, prompt
		c := next(t, openOn(t, p, req))
		if at := before.Applied.Pose.Z + 3*0.4; len(c.Frames) != 13 || c.Applied.Keys != "w" || math.Abs(c.Applied.Pose.Z-at) > 1e-9 {
			t.Errorf("it goes on with %d frames, %+v", len(c.Frames), c.Applied)
		}
		return c
	}
	after := first(before.State, "a road through hills")
	if len(after.State) == 0 {
		t.Error("whoever went on leaves nothing to go on from")
	}
	for name, c := range map[string]struct {
		state  []byte
		prompt string
		same   bool
	}{
		"the prompt that it began with":  {before.State, "a desert", true},
		"what led it":                    {altered(t, before.State, "prompt", "a desert"), "a road through hills", false},
		"the last picture":               {altered(t, before.State, "last", jpegOf(t, 64, 32)), "a road through hills", false},
		"how many chunks came before it": {altered(t, before.State, "chunks", 9), "a road through hills", false},
	} {
		if got := first(c.state, c.prompt); bytes.Equal(got.Frames[12].Data, after.Frames[12].Data) != c.same {
			t.Errorf("another %s: the same frames are %t", name, !c.same)
		}
	}
	for name, state := range map[string][]byte{
		"size": altered(t, before.State, "last", jpegOf(t, 32, 32)), "cut": altered(t, before.State, "last", jpegOf(t, 64, 32)[:300]), "nothing": altered(t, before.State, "last", nil),
		"window": altered(t, before.State, "picture", make([]byte, 64*32*3)), "camera": altered(t, before.State, "camera", map[string]any{"keys": "x"}),
		"version": altered(t, before.State, "v", 2), "chunks": altered(t, before.State, "chunks", -1),
	} {
		req := smallRequest(0)
		req.Image, req.State = nil, state
		if s, err := p.Open(t.Context(), req); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("a state with another %s: %v", name, err)
			_ = s.Close()
		}
	}
}

// altered is a state with one field changed.
func altered(t *testing.T, state []byte, name string, value any) []byte {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(state, &fields); err != nil {
		t.Fatal(err)
	}
	fields[name] = value
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// jpegOf is a picture of broad stripes.
func jpegOf(t *testing.T, width, height int) []byte {
	t.Helper()
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = byte(40 + i/width*6)
	}
	for i := range img.Cb {
		img.Cb[i], img.Cr[i] = 90, 160
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
