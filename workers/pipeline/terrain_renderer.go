package pipeline

import (
	"context"
	"os"
	"path/filepath"

	"telefuser/workers/models/terrain"
)

// terrainRenderer draws frames, on the processor or on a device. Prepare and SetWorld are the encode stage's, the drawing of plans the generate stage's.
type terrainRenderer interface {
	Prepare(shots []terrain.Shot, altitude float64) (terrain.Plan, terrain.Times)
	SetWorld(world *terrain.World)
	Close() error
}

// renderer makes a renderer where the pipeline runs.
func (t *Terrain) renderer(ctx context.Context, world *terrain.World, width, height int) (terrainRenderer, error) {
	if t.cuda != nil {
		return t.cuda.NewCUDARenderer(ctx, world, width, height)
	}
	r, err := terrain.NewRenderer(world, width, height, t.threads)
	return plainTerrain{r}, err
}

// plainTerrain draws on the processor.
type plainTerrain struct{ *terrain.Renderer }

// Close has nothing to free.
func (p plainTerrain) Close() error { return nil }

// terrainFaults makes a device fail on purpose: before each chunk, a file in the directory that has the name of a terrain.Fault is removed
// and that failure carried out, once.
type terrainFaults struct{ dir string }

// next is the failure that waits, or "".
func (f *terrainFaults) next() terrain.Fault {
	if f.dir == "" {
		return ""
	}
	for _, fault := range terrain.Faults() {
		if os.Remove(filepath.Join(f.dir, string(fault))) == nil {
			return fault
		}
	}
	return ""
}
