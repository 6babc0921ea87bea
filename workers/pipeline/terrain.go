package pipeline

import (
	"context"
	"errors"

	"telefuser/workers/contract"
)

// Terrain is the built-in world renderer behind the interface of all pipelines. It needs no weights and no device.
type Terrain struct{}

// NewTerrain makes the pipeline.
func NewTerrain() *Terrain { return &Terrain{} }

// Contract says what the renderer accepts.
func (t *Terrain) Contract() contract.Contract { return terrainContract() }

// Load has nothing to bring in.
func (t *Terrain) Load(ctx context.Context, report func(share float64)) error {
	report(1)
	return ctx.Err()
}

// Open starts a flight.
func (t *Terrain) Open(context.Context, Request) (Session, error) {
	return nil, errors.New("pipeline: terrain: not built yet")
}

// Close has nothing to free.
func (t *Terrain) Close() error { return nil }
