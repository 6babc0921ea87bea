package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"telefuser/workers/models/wan"
	"telefuser/workers/models/world"
)

// errTinyState means that a state cannot be gone on from.
var errTinyState = errors.New("pipeline: bad state of tiny-world")

// tinyStateVersion changes when an older state no longer means the same.
const tinyStateVersion = 1

// tinyStateBytesMax bounds an encoded state.
const tinyStateBytesMax = 512 << 10

// The sizes within a state.
const (
	tinyPictureBytes = tinyWidth * tinyHeight * 3
	tinyLatentBytes  = chunkLatents * (tinyWidth / 8) * (tinyHeight / 8) * 16 * 2
	tinyKeptMax      = 8
	tinyChunksMax    = 1 << 32 // far beyond a century, and far from every overflow
)

// tinyState is what a later session needs to go on in the same world: the first picture and the chunks of the window, in bf16. Keys,
// values and the decoder's memory are made from them again.
type tinyState struct {
	Version int             `json:"v"`
	Seed    int64           `json:"seed"`
	Row     int             `json:"row"`
	Chunks  int64           `json:"chunks"`
	Spare   int             `json:"spare"`
	Camera  json.RawMessage `json:"camera"`
	Picture []byte          `json:"picture"`
	Kept    []tinyKept      `json:"kept"`
}

// tinyKept is one chunk of a window.
type tinyKept struct {
	Chunk   int64          `json:"chunk"`
	World   world.Snapshot `json:"world"`
	Latents []byte         `json:"latents"`
}

// keep remembers a chunk and forgets those that no window of the next one holds.
func (s *tinySession) keep(l tinyLatent) {
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
func (s *tinySession) state(l tinyLatent) ([]byte, error) {
	if len(s.kept) == 0 {
		return nil, nil
	}
	state := tinyState{
		Version: tinyStateVersion, Seed: s.seed, Row: l.row, Chunks: s.kept[len(s.kept)-1].Chunk + 1, Spare: len(s.pending),
		Camera: l.camera, Picture: s.picture,
	}
	for _, k := range s.kept {
		state.Kept = append(state.Kept, tinyKept{Chunk: k.Chunk, World: k.World, Latents: wan.Narrow(k.Latents)})
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("pipeline: state of %s: %w", tinyName, err)
	}
	return data, nil
}

// decodeTinyState reads what state wrote. It fails with errTinyState.
func decodeTinyState(data []byte) (*tinyState, error) {
	if len(data) > tinyStateBytesMax {
		return nil, fmt.Errorf("%w: %d bytes", errTinyState, len(data))
	}
	var s tinyState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", errTinyState, err)
	}
	ok := s.Version == tinyStateVersion && s.Row >= 0 && s.Row <= len(tinyBiomes()) && s.Chunks > 0 && s.Chunks <= tinyChunksMax && s.Spare >= 0 && s.Spare < laterChunkFrames &&
		len(s.Picture) == tinyPictureBytes && len(s.Kept) > 0 && len(s.Kept) <= tinyKeptMax
	for _, k := range s.Kept {
		ok = ok && len(k.Latents) == tinyLatentBytes && len(k.World.Poses) == chunkLatents && k.World.Valid()
	}
	if !ok {
		return nil, fmt.Errorf("%w: version %d after %d chunks", errTinyState, s.Version, s.Chunks)
	}
	return &s, nil
}

// kept are the chunks of the window.
func (t *tinyState) kept() []wan.Kept {
	var all []wan.Kept
	for _, k := range t.Kept {
		all = append(all, wan.Kept{Chunk: k.Chunk, Latents: wan.Widen(k.Latents), World: k.World})
	}
	return all
}
