package pipeline

import (
	"context"
	"fmt"
	"sync"

	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
	"telefuser/workers/stage"
)

// terrainSlotsMax bounds the sessions that a scheduler holds; engines hold fewer, as the contract says.
const terrainSlotsMax = 64

// What flows between terrain's stages, for one chunk each.
type (
	// terrainWish is what is asked for.
	terrainWish struct {
		session *terrainSession
		index   int
		frames  int
		steering
	}
	// terrainCondition is a chunk made ready: its frames' tables, the map's new blocks, and what the flight is after it.
	terrainCondition struct {
		terrainWish
		plan    terrain.Plan
		applied Applied
		state   terrain.State
		times   terrain.Times
	}
	// terrainLatent is a chunk that is drawn.
	terrainLatent struct {
		terrainCondition
		pictures []media.Frame
	}
)

// The artifacts of terrain's graph.
func terrainControl() stage.Artifact[terrainWish] { return stage.NewArtifact[terrainWish]("control") }

func terrainConditions() stage.Artifact[terrainCondition] {
	return stage.NewArtifact[terrainCondition]("condition")
}

func terrainLatents() stage.Artifact[terrainLatent] {
	return stage.NewArtifact[terrainLatent]("latent")
}

func terrainFrames() stage.Artifact[Chunk] { return stage.NewArtifact[Chunk]("frames") }

// terrainStages runs all sessions of one pipeline on one scheduler:
//
//	control ──(2)──> encode ──condition (1)──> generate ──latent (1)──> decode ──frames (1)──> Next
//
// Encode flies the camera, makes a new look's world and bakes what the map lacks; generate draws; decode closes the chunk. So while a bounded request's chunk is
// drawn, the one after it is made ready and the one before it is on its way out. A live session asks for one chunk at a time, so that a key acts on the very next one.
type terrainStages struct {
	scheduler *stage.Scheduler
	stop      context.CancelFunc
	ended     chan error

	mu sync.Mutex
	// slots are the sessions' names. A name is used again with a higher epoch, and never after its clean-up failed.
	slots []terrainSlot
}

// terrainSlot is one name.
type terrainSlot struct {
	epoch int64
	// session is nil while the slot is free.
	session *terrainSession
}

// startTerrainStages builds the graph and sets it to work.
func startTerrainStages() (*terrainStages, error) {
	t := &terrainStages{ended: make(chan error, 1)} // one answer, from the one goroutine below
	graph, err := stage.Build(t.spec())
	if err != nil {
		return nil, fmt.Errorf("pipeline: terrain: %w", err)
	}
	if t.scheduler, err = stage.New(graph, stage.Config{SessionsMax: terrainSlotsMax}); err != nil {
		return nil, fmt.Errorf("pipeline: terrain: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.stop = cancel
	go func() { t.ended <- t.scheduler.Run(ctx) }()
	return t, nil
}

// spec is the graph. Frames are what takes memory, so edges behind the drawing hold one chunk each.
func (t *terrainStages) spec() stage.Spec {
	control, condition, latent, frames := terrainControl(), terrainConditions(), terrainLatents(), terrainFrames()
	return stage.Spec{
		Stages: []stage.Stage{
			{ID: StageEncode, Consumes: []stage.Port{control}, Produces: []stage.Port{condition}, Run: stage.Map(control, condition, encodeTerrain)},
			{ID: StageGenerate, Consumes: []stage.Port{condition}, Produces: []stage.Port{latent}, Run: stage.Map(condition, latent, generateTerrain), Release: t.release},
			{ID: StageDecode, Consumes: []stage.Port{latent}, Produces: []stage.Port{frames}, Run: stage.Map(latent, frames, decodeTerrain)},
		},
		Edges: []stage.Edge{
			{Artifact: control, Target: StageEncode, CapacityPerSession: 2},
			{Artifact: condition, Source: StageEncode, Target: StageGenerate},
			{Artifact: latent, Source: StageGenerate, Target: StageDecode},
		},
		Outputs:       []stage.Output{{Artifact: frames}},
		LatencyAnchor: control,
	}
}

// open gives a session a slot and its place in the scheduler.
func (t *terrainStages) open(s *terrainSession) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := 0
	for at < len(t.slots) && t.slots[at].session != nil {
		at++
	}
	if at == len(t.slots) {
		t.slots = append(t.slots, terrainSlot{})
	}
	slot := &t.slots[at]
	flow, err := t.scheduler.Open(slotName(at), slot.epoch+1)
	if err != nil {
		return fmt.Errorf("pipeline: terrain: %w", err)
	}
	slot.epoch++
	slot.session, s.flow, s.slot = s, flow, at
	return nil
}

func slotName(slot int) string { return fmt.Sprintf("slot %d", slot) }

// free gives the slot back.
func (t *terrainStages) free(slot int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots[slot].session = nil
}

// release frees what the drawing keeps for a session.
func (t *terrainStages) release(_ context.Context, key stage.SessionKey) error {
	t.mu.Lock()
	var of *terrainSession
	for i, slot := range t.slots {
		if slotName(i) == key.Session && slot.epoch == key.Epoch {
			of = slot.session
		}
	}
	t.mu.Unlock()
	if of == nil {
		return nil
	}
	return of.release()
}

// close ends the scheduler and waits for it.
func (t *terrainStages) close() error {
	t.stop()
	if err := <-t.ended; err != nil {
		return fmt.Errorf("pipeline: terrain: %w", err)
	}
	return nil
}
