package pipeline

import (
	"fmt"

	"telefuser/workers/contract"
	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
	"telefuser/workers/models/umt5"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/world"
	"telefuser/workers/stage"
)

// worldSession is one flight through a world. What makes the chunks belongs to the stages: the first group of fields to encode, then
// those of denoise and those of decode.
type worldSession struct {
	course
	kind   worldKind
	stages *slots[*worldSession]
	model  *wan.World
	texts  *umt5.Texts
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
	chunk  int64 // of latents, the next one
	// prompt leads from the next chunk on; led is the text that led the last one, and by what prompt.
	prompt string
	led    *wan.Text
	ledBy  string

	// pending are frames that were made and not given yet, kept the chunks that a later session needs.
	picture []byte // RGB
	pending []media.Frame
	revived bool
	spare   int // how many of the last kept chunk's frames were not given before
	kept    []wan.Kept
}

// newWorldSession settles everything that the parts of the model are not needed for, and takes a video's memory.
func newWorldSession(p *worldPipeline, req Request) (*worldSession, error) {
	k := p.kind
	if req.Frames < 0 || req.Width != k.width() || req.Height != k.height() || req.FPS < 1 {
		return nil, fmt.Errorf("%w: %d frames of %dx%d at %d fps", ErrInvalid, req.Frames, req.Width, req.Height, req.FPS)
	}
	s := &worldSession{
		course: course{total: req.Frames, live: req.Frames == 0, latents: k.latents, translate: modelError},
		kind:   k, model: p.model, texts: p.texts, seed: req.Seed, prompt: req.Prompt,
	}
	if req.StylePrompt != "" {
		s.prompt = req.StylePrompt
	}
	s.request = func(index int) stage.Value { return worldRequests().Of(worldRequest{session: s, index: index}) }
	s.wish = func(index, frames int, st steering) stage.Value {
		return worldControls().Of(worldWish{session: s, index: index, frames: frames, steering: st})
	}
	var state *worldState
	if len(req.State) > 0 {
		var err error
		if state, err = k.decodeState(req.State); err != nil {
			return nil, err
		}
	}
	if err := s.fly(req, state); err != nil {
		return nil, err
	}
	if err := s.look(req, state); err != nil {
		return nil, err
	}
	s.plan()
	if err := s.fits(); err != nil {
		return nil, err
	}
	var err error
	s.video, err = s.model.NewVideo(coloursOf(s.picture))
	return s, err
}

// fly makes the camera: a script's, the pipeline's own for a bounded request without one, or the viewer's.
func (s *worldSession) fly(req Request, state *worldState) error {
	after := int64(0)
	if state != nil {
		after = state.Chunks*int64(s.kind.latents) - 1
	}
	var way *contract.Camera
	switch {
	case req.Camera != nil:
		way = req.Camera
	case !s.live && s.kind.tours:
		way = &contract.Camera{Controls: worldTour(req.Seed, req.Frames, req.FPS)}
	case !s.live:
		way = &contract.Camera{Controls: []contract.TimedControl{{Keys: ""}}} // it stands
	}
	var script *world.Script
	var err error
	if way != nil {
		if script, err = world.NewScript(*way, req.FPS, max(req.Frames, 1), after); err != nil {
			return err
		}
	}
	if s.camera, err = world.NewCamera(s.kind.steps, script); err != nil || state == nil {
		return err
	}
	err = s.camera.Restore(state.Camera)
	if s.kind.keeps == keepsPicture {
		s.camera.Begin()
	}
	return err
}

// worldTour is the flight of a bounded request that asks for none: forward, with bends that the seed begins somewhere.
func worldTour(seed int64, frames, fps int) []contract.TimedControl {
	keys := []string{"w", "w", "wl", "wl", "w", "w", "wj", "wj"}
	var all []contract.TimedControl
	for at := 0; at*laterChunkFrames < frames+laterChunkFrames; at++ {
		i := (at + int(uint64(seed)%uint64(len(keys)))) % len(keys)
		all = append(all, contract.TimedControl{AtS: float64(at*laterChunkFrames) / float64(fps), Keys: keys[i]})
	}
	return all
}

// look settles the first picture and what the video goes on from.
func (s *worldSession) look(req Request, state *worldState) error {
	switch {
	case state != nil:
		s.goOn(req, state)
	case req.Image != nil:
		s.picture = media.Resize(*req.Image, s.kind.width(), s.kind.height()).RGB
	case s.kind.draws:
		drawn, err := drawWorld(s.kind, req)
		if err != nil {
			return err
		}
		s.picture = drawn
	default:
		return fmt.Errorf("%w: %s begins with a picture, and there is none", ErrInvalid, s.kind.contract.Name)
	}
	return nil
}

// goOn goes on from a state. A live session is led by what led it last, whatever it began with.
func (s *worldSession) goOn(req Request, state *worldState) {
	s.chunk, s.seed = state.Chunks, state.Seed
	if s.kind.keeps == keepsPicture { // a new video, but for its noise
		s.picture = state.last
	} else {
		s.goesOn = true
		s.made, s.spare, s.picture, s.kept = state.Chunks, state.Spare, state.Picture, state.kept()
		s.resumed = s.kept
	}
	if s.live || req.StylePrompt == "" && (req.Prompt == "" || s.kind.words != nil && s.kind.words.row(req.Prompt) == s.kind.words.none()) {
		s.prompt = state.prompt(s.kind)
	}
	if s.live {
		s.controls.keys = s.camera.Keys()
	}
}

// drawWorld draws a first picture where a request has none: the landscape that terrain makes of its prompt.
func drawWorld(k worldKind, req Request) ([]byte, error) {
	land, err := terrain.NewWorld(terrain.WorldConfig{Prompt: req.Prompt, StylePrompt: req.StylePrompt, Seed: req.Seed, HourOfDay: -1})
	if err != nil {
		return nil, terrainError(err)
	}
	r, err := terrain.NewRenderer(land, k.width(), k.height(), 0)
	if err != nil {
		return nil, terrainError(err)
	}
	f := media.NewFrame(k.width(), k.height())
	if _, err := r.Render(f, Pose{Pitch: k.steps.Tilt}, 1, 0); err != nil {
		return nil, terrainError(err)
	}
	return media.ToRGB(f).RGB, nil
}

// plan decides which chunks of a bounded request need new latents. What goes on may begin with frames that were made and not given.
func (s *worldSession) plan() {
	queued, first := s.spare, s.made == 0
	for sent, i := 0, 0; sent < s.total; i++ {
		n := s.chunkFrames(i, sent)
		makes := queued < n
		if makes {
			queued += s.kind.latents * latentFrames
			if first {
				queued -= latentFrames - 1
			}
			first = false
		}
		s.makes = append(s.makes, makes)
		queued -= n
		sent += n
	}
}

// fits holds a session to the cache of a model that keeps all of a video.
func (s *worldSession) fits() error {
	most := s.model.Capacity() / int64(s.kind.latents)
	if most == 0 {
		return nil
	}
	s.chunksMax = int(most)
	if int64(len(s.makes)) > most {
		return fmt.Errorf("%w: %d chunks; %s remembers all of a video, and has room for %d", ErrInvalid, len(s.makes), s.kind.contract.Name, most)
	}
	return nil
}

// needs says whether chunk i needs new latents.
func (s *worldSession) needs(i int) bool {
	return s.live && (s.chunksMax == 0 || i < s.chunksMax) || !s.live && s.makes[i]
}

// text is what leads the next chunk. It belongs to the denoise stage.
func (s *worldSession) text() (*wan.Text, error) {
	if s.led != nil && s.ledBy == s.prompt {
		return s.led, nil
	}
	var err error
	if s.kind.words != nil {
		s.led, err = s.model.Prompt(s.kind.words.row(s.prompt))
	} else {
		var f umt5.Features
		if f, err = s.texts.Features(s.prompt); err == nil {
			s.led, err = s.model.Lead(s.video, f.Rows)
		}
	}
	s.ledBy = s.prompt
	return s.led, err
}

// drop gives the video's memory to the next one.
func (s *worldSession) drop() {
	if s.video != nil {
		s.model.Drop(s.video)
		s.video = nil
	}
}

// release has nothing to free before Close.
func (s *worldSession) release() error { return nil }

// Close ends the flight, waits until no stage works for it any more, and gives its memory to the next one.
func (s *worldSession) Close() error {
	return s.end(func(slot int) error {
		s.drop()
		s.stages.free(slot)
		return nil
	})
}
