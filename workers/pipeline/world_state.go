package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"telefuser/workers/media"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/world"
)

// errWorldState means that a state cannot be gone on from.
var errWorldState = errors.New("pipeline: bad state of a world")

// worldStateVersion changes when an older state no longer means the same.
const worldStateVersion = 1

// worldStateBytesMax bounds an encoded state.
const worldStateBytesMax = 1 << 20

// The sizes within a state.
const (
	worldKeptMax   = 8
	worldChunksMax = 1 << 32 // far beyond a century, and far from every overflow
)

// worldState is what a later session needs to go on in the same world: the first picture and the chunks of the window, in bf16, from which keys,
// values and the decoder's memory are made again; or, with keepsPicture, the last picture as JPEG.
type worldState struct {
	Version int             `json:"v"`
	Seed    int64           `json:"seed"`
	Row     int             `json:"row"`
	Prompt  string          `json:"prompt,omitempty"`
	Chunks  int64           `json:"chunks"`
	Spare   int             `json:"spare"`
	Camera  json.RawMessage `json:"camera"`
	Picture []byte          `json:"picture,omitempty"`
	Kept    []worldKept     `json:"kept,omitempty"`
	Last    []byte          `json:"last,omitempty"`

	last []byte // RGB
}

// worldKept is one chunk of a window.
type worldKept struct {
	Chunk   int64          `json:"chunk"`
	World   world.Snapshot `json:"world"`
	Latents []byte         `json:"latents"`
}

// keep remembers a chunk and forgets those that no window of the next one holds.
func (s *worldSession) keep(l worldLatent) {
	if s.kind.keeps != keepsWindow {
		return
	}
	number := l.number
	wanted := s.model.Window(number + 1)
	var kept []wan.Kept
	for _, k := range append(slices.Clone(s.kept), wan.Kept{Chunk: number, Latents: l.latents, World: l.snapshot}) {
		if slices.Contains(wanted, k.Chunk) {
			kept = append(kept, k)
		}
	}
	s.kept = kept
}

// state writes down where the session is after a chunk, the last of whose frames is given.
func (s *worldSession) state(l worldLatent, last media.Frame) ([]byte, error) {
	state := worldState{Version: worldStateVersion, Seed: s.seed, Camera: l.camera}
	switch {
	case s.kind.keeps == keepsWindow && len(s.kept) > 0:
		state.Chunks, state.Spare, state.Picture = s.kept[len(s.kept)-1].Chunk+1, len(s.pending), s.picture
	case s.kind.keeps == keepsPicture && s.live && l.latents != nil:
		var err error
		if state.Last, err = packPicture(last); err != nil {
			return nil, fmt.Errorf("pipeline: state of %s: %w", s.kind.contract.Name, err)
		}
		state.Chunks = l.number + 1
	default:
		return nil, nil
	}
	if s.kind.words != nil {
		state.Row = s.kind.words.row(l.prompt)
	} else {
		state.Prompt = l.prompt
	}
	for _, k := range s.kept {
		state.Kept = append(state.Kept, worldKept{Chunk: k.Chunk, World: k.World, Latents: wan.Narrow(k.Latents)})
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("pipeline: state of %s: %w", s.kind.contract.Name, err)
	}
	return data, nil
}

// decodeState reads what state wrote. It fails with errWorldState.
func (k worldKind) decodeState(data []byte) (*worldState, error) {
	if len(data) > worldStateBytesMax {
		return nil, fmt.Errorf("%w: %d bytes", errWorldState, len(data))
	}
	var s worldState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", errWorldState, err)
	}
	rows := 0
	if k.words != nil {
		rows = k.words.none()
	}
	ok := s.Version == worldStateVersion && s.Row >= 0 && s.Row <= rows && len(s.Prompt) <= promptBytesMax && s.Chunks > 0 && s.Chunks <= worldChunksMax
	if ok = ok && k.holds(&s); !ok {
		return nil, fmt.Errorf("%w: version %d after %d chunks", errWorldState, s.Version, s.Chunks)
	}
	return &s, nil
}

// holds says whether a state holds what the kind goes on from, and nothing else.
func (k worldKind) holds(s *worldState) bool {
	if k.keeps == keepsPicture {
		last, err := unpackPicture(s.Last, k.width(), k.height())
		s.last = last
		return err == nil && len(s.Picture)+len(s.Kept)+s.Spare == 0
	}
	ok := s.Spare >= 0 && s.Spare < k.latents*latentFrames && len(s.Picture) == k.pictureBytes() && len(s.Kept) > 0 && len(s.Kept) <= worldKeptMax && s.Last == nil
	for _, c := range s.Kept {
		ok = ok && len(c.Latents) == k.latentBytes() && len(c.World.Poses) == k.latents && c.World.Valid()
	}
	return ok
}

// prompt is one that says what led the last chunk.
func (t *worldState) prompt(k worldKind) string {
	if k.words == nil {
		return t.Prompt
	}
	if t.Row < k.words.none() {
		return k.words.rows[t.Row]
	}
	return ""
}

// kept are the chunks of the window.
func (t *worldState) kept() []wan.Kept {
	var all []wan.Kept
	for _, k := range t.Kept {
		all = append(all, wan.Kept{Chunk: k.Chunk, Latents: wan.Widen(k.Latents), World: k.World})
	}
	return all
}
