package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
	worldKeptMax      = 8
	worldChunksMax    = 1 << 32 // far beyond a century, and far from every overflow
	worldPromptsBytes = 64 << 10
)

// worldState is what a later session needs to go on in the same world: the first picture and the chunks of the window, in bf16. Keys,
// values and the decoder's memory are made from them again.
type worldState struct {
	Version int             `json:"v"`
	Seed    int64           `json:"seed"`
	Row     int             `json:"row"`
	Prompt  string          `json:"prompt,omitempty"`
	Chunks  int64           `json:"chunks"`
	Spare   int             `json:"spare"`
	Camera  json.RawMessage `json:"camera"`
	Picture []byte          `json:"picture"`
	Kept    []worldKept     `json:"kept"`
}

// worldKept is one chunk of a window.
type worldKept struct {
	Chunk   int64          `json:"chunk"`
	World   world.Snapshot `json:"world"`
	Latents []byte         `json:"latents"`
}

// keep remembers a chunk and forgets those that no window of the next one holds.
func (s *worldSession) keep(l worldLatent) {
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

// state writes down where the session is after a chunk.
func (s *worldSession) state(l worldLatent) ([]byte, error) {
	if len(s.kept) == 0 || !s.kind.keeps {
		return nil, nil
	}
	state := worldState{
		Version: worldStateVersion, Seed: s.seed, Chunks: s.kept[len(s.kept)-1].Chunk + 1, Spare: len(s.pending),
		Camera: l.camera, Picture: s.picture,
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
	ok := s.Version == worldStateVersion && s.Row >= 0 && s.Row <= rows && len(s.Prompt) <= worldPromptsBytes && s.Chunks > 0 && s.Chunks <= worldChunksMax &&
		s.Spare >= 0 && s.Spare < k.latents*latentFrames && len(s.Picture) == k.pictureBytes() && len(s.Kept) > 0 && len(s.Kept) <= worldKeptMax
	for _, c := range s.Kept {
		ok = ok && len(c.Latents) == k.latentBytes() && len(c.World.Poses) == k.latents && c.World.Valid()
	}
	if !ok {
		return nil, fmt.Errorf("%w: version %d after %d chunks", errWorldState, s.Version, s.Chunks)
	}
	return &s, nil
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
