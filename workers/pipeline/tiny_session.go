package pipeline

import (
	"context"
	"fmt"
	"math"

	"telefuser/workers/contract"
	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/world"
	"telefuser/workers/stage"
)

// tinySession is one flight through tiny-world. What makes the chunks belongs to the stages: the first group of fields to encode, then
// those of denoise and those of decode.
type tinySession struct {
	course
	stages *slots[*tinySession]
	model  *wan.World
	video  *wan.Video
	// makes says for each chunk of a bounded request whether a chunk of latents has to be made for it; made is how many chunks of
	// latents came before.
	makes []bool
	made  int64
	// resumed are the chunks that the video goes on from; each part lives through them again before its first chunk.
	resumed     []wan.Kept
	conditioned bool

	camera *world.Camera
	seed   int64
	row    int
	chunk  int64 // of latents, the next one

	// pending are frames that were made and not given yet, kept the chunks that a later session needs.
	picture []byte // RGB
	pending []media.Frame
	revived bool
	spare   int // how many of the last kept chunk's frames were not given before
	kept    []wan.Kept
}

// newTinySession settles everything that the parts of the model are not needed for.
func newTinySession(_ context.Context, m *wan.World, req Request) (*tinySession, error) {
	if req.Frames < 0 || req.Width != tinyWidth || req.Height != tinyHeight || req.FPS < 1 {
		return nil, fmt.Errorf("%w: %d frames of %dx%d at %d fps", ErrInvalid, req.Frames, req.Width, req.Height, req.FPS)
	}
	s := &tinySession{
		course: course{total: req.Frames, live: req.Frames == 0, latents: chunkLatents, translate: tinyError},
		model:  m, seed: req.Seed, row: tinyBiome(req.Prompt),
	}
	if req.StylePrompt != "" {
		s.row = tinyBiome(req.StylePrompt)
	}
	s.request = func(index int) stage.Value { return tinyRequests().Of(tinyRequest{session: s, index: index}) }
	s.wish = func(index, frames int, st steering) stage.Value {
		return tinyControls().Of(tinyWish{session: s, index: index, frames: frames, steering: st})
	}
	var state *tinyState
	if len(req.State) > 0 {
		var err error
		if state, err = decodeTinyState(req.State); err != nil {
			return nil, err
		}
	}
	if err := s.fly(req, state); err != nil {
		return nil, err
	}
	if err := s.look(req, state); err != nil { //nolint:contextcheck // drawing one small picture is over at once
		return nil, err
	}
	s.plan()
	return s, nil
}

// fly makes the camera: a script's, the pipeline's own for a bounded request without one, or the viewer's.
func (s *tinySession) fly(req Request, state *tinyState) error {
	after := int64(0)
	if state != nil {
		after = state.Chunks*chunkLatents - 1
	}
	var script *world.Script
	if req.Camera != nil || !s.live {
		way := contract.Camera{}
		if req.Camera != nil {
			way = *req.Camera
		} else {
			way.Controls = tinyTour(req.Seed, req.Frames, req.FPS)
		}
		var err error
		if script, err = world.NewScript(way, req.FPS, max(req.Frames, 1), after); err != nil {
			return err
		}
	}
	var err error
	if s.camera, err = world.NewCamera(tinySteps(), script); err != nil || state == nil {
		return err
	}
	return s.camera.Restore(state.Camera)
}

// tinyTour is the flight of a bounded request that asks for none: forward, with bends that the seed begins somewhere.
func tinyTour(seed int64, frames, fps int) []contract.TimedControl {
	keys := []string{"w", "w", "wl", "wl", "w", "w", "wj", "wj"}
	var all []contract.TimedControl
	for at := 0; at*laterChunkFrames < frames+laterChunkFrames; at++ {
		i := (at + int(uint64(seed)%uint64(len(keys)))) % len(keys)
		all = append(all, contract.TimedControl{AtS: float64(at*laterChunkFrames) / float64(fps), Keys: keys[i]})
	}
	return all
}

// look settles the first picture and begins the video with it.
func (s *tinySession) look(req Request, state *tinyState) error {
	switch {
	case state != nil:
		s.goesOn = true
		s.chunk, s.made, s.seed, s.spare = state.Chunks, state.Chunks, state.Seed, state.Spare
		s.picture, s.kept = state.Picture, state.kept()
		s.resumed = s.kept
		if req.StylePrompt == "" && (req.Prompt == "" || tinyBiome(req.Prompt) == len(tinyBiomes())) {
			s.row = state.Row
		}
		if s.live {
			s.controls.keys = s.camera.Keys()
		}
	case req.Image != nil:
		s.picture = media.Resize(*req.Image, tinyWidth, tinyHeight).RGB
	default:
		drawn, err := drawTiny(req)
		if err != nil {
			return err
		}
		s.picture = drawn
	}
	picture := make([]float32, len(s.picture))
	for i, v := range s.picture {
		picture[i] = float32(v)/halfWhite - 1
	}
	var err error
	s.video, err = s.model.NewVideo(picture)
	return err
}

// halfWhite is half of the largest value of a byte: a model's colours go from -1 to 1.
const halfWhite = 127.5

// drawTiny draws a first picture where a request has none: the landscape that terrain makes of its prompt.
func drawTiny(req Request) ([]byte, error) {
	land, err := terrain.NewWorld(terrain.WorldConfig{Prompt: req.Prompt, StylePrompt: req.StylePrompt, Seed: req.Seed, HourOfDay: -1})
	if err != nil {
		return nil, terrainError(err)
	}
	r, err := terrain.NewRenderer(land, tinyWidth, tinyHeight, 0)
	if err != nil {
		return nil, terrainError(err)
	}
	f := media.NewFrame(tinyWidth, tinyHeight)
	if _, err := r.Render(f, Pose{Pitch: tinySteps().Tilt}, 1, 0); err != nil {
		return nil, terrainError(err)
	}
	return media.ToRGB(f).RGB, nil
}

// plan decides which chunks of a bounded request need new latents. What goes on may begin with frames that were made and not given.
func (s *tinySession) plan() {
	queued, first := s.spare, s.made == 0
	for sent, i := 0, 0; sent < s.total; i++ {
		n := s.chunkFrames(i, sent)
		makes := queued < n
		if makes {
			queued += laterChunkFrames
			if first {
				queued += firstChunkFrames - laterChunkFrames
			}
			first = false
		}
		s.makes = append(s.makes, makes)
		queued -= n
		sent += n
	}
}

// needs says whether chunk i needs new latents.
func (s *tinySession) needs(i int) bool { return s.live || s.makes[i] }

// release has nothing to free but memory.
func (s *tinySession) release() error { return nil }

// Close ends the flight and waits until no stage works for it any more.
func (s *tinySession) Close() error {
	return s.end(func(slot int) error {
		s.stages.free(slot)
		return nil
	})
}

// toByte rounds a model's colour.
func toByte(v float32) byte {
	return byte(math.RoundToEven(float64(min(max((v+1)*halfWhite, 0), 2*halfWhite))))
}
