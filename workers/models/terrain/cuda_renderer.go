package terrain

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"telefuser/workers/gpu"
	"telefuser/workers/media"
)

// CUDARenderer draws frames of one world at one size on a GPU, with the bytes of Renderer. The map is baked on the processor and kept
// on the device. It has the two halves of a Renderer: Prepare and SetWorld, and the drawing of plans.
type CUDARenderer struct {
	cuda   *CUDA
	view   *view
	layout tableLayout

	// The half that prepares. stale says that the world's tables are to be sent with the next plan.
	world  *World
	air    *air
	bakers []*baker
	blocks blockIndex
	cuts   int64
	stale  bool

	// The half that draws: memory is the map, the world's tables and the samples, on the device.
	memory, mapAt, worldAt, samplesAt, airAt gpu.Ptr
	late                                     []*baker

	// cut counts the plans that were not drawn to their end, after which nobody knows which blocks have arrived.
	cut   atomic.Int64
	spare chan *cudaPlan
}

// NewCUDARenderer makes a renderer for pictures of the given even size in pixels and takes about 40 MB of the device's memory.
func (c *CUDA) NewCUDARenderer(ctx context.Context, world *World, width, height int) (*CUDARenderer, error) {
	v, err := newView(width, height)
	if err != nil {
		return nil, err
	}
	r := &CUDARenderer{cuda: c, view: v, layout: layoutOf(v), spare: make(chan *cudaPlan, plansSpare)}
	for range runtime.GOMAXPROCS(0) {
		r.bakers, r.late = append(r.bakers, &baker{}), append(r.late, &baker{})
	}
	r.blocks = newBlockIndex(len(v.starts) - 1)
	r.SetWorld(world)
	err = c.do(ctx, func() error {
		const align = 256
		samples := (int64(len(v.depths))*sampleBytes + align - 1) / align * align
		atlas := (levelBytes*int64(levelsMax) + align - 1) / align * align
		tables := int64(worldBytes+align-1) / align * align
		base, err := c.acc.take(atlas + tables + samples + int64(len(v.depths))*airBytes)
		if err != nil {
			return err
		}
		r.memory, r.mapAt = base, base
		r.worldAt = r.mapAt + gpu.Ptr(atlas)
		r.samplesAt = r.worldAt + gpu.Ptr(tables)
		r.airAt = r.samplesAt + gpu.Ptr(int64(len(v.depths))*sampleBytes)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("terrain: open renderer: %w", err)
	}
	return r, nil
}

// SetWorld changes the look of what is prepared from now on; the map is baked anew.
func (r *CUDARenderer) SetWorld(world *World) {
	r.world, r.air, r.stale = world, newAir(world, r.view), true
	r.blocks.forget()
	for _, b := range r.bakers {
		b.world = world
	}
}

// Close gives the device's memory back.
func (r *CUDARenderer) Close() error {
	if r.memory == 0 {
		return nil
	}
	err := r.cuda.do(context.Background(), func() error { return firstError(r.cuda.acc.settle(), r.cuda.acc.give(r.memory)) })
	r.memory = 0
	if err != nil && !errors.Is(err, gpu.ErrDeviceLost) { // the end of the process frees what a lost device holds
		return fmt.Errorf("terrain: close renderer: %w", err)
	}
	return nil
}

// Render draws the world as seen from each shot into the frame of the same index, which must have the renderer's size. altitude is a
// multiple of the usual height of flight. Its errors are those of package gpu, and ctx's.
func (r *CUDARenderer) Render(ctx context.Context, dst []media.Frame, shots []Shot, altitude float64) (Times, error) {
	if err := r.view.fits(dst, len(shots)); err != nil {
		return Times{}, err
	}
	plan, prepared := r.Prepare(shots, altitude)
	drawn, err := plan.Draw(ctx, dst)
	return prepared.Add(drawn), err
}

// packJob writes terrain.cu's Job.
func (r *CUDARenderer) packJob(frames int) []byte {
	var w words
	v, work := r.view, &r.cuda.work
	levels := len(v.starts) - 1
	for _, n := range []int{v.width, v.height, frames, levels} {
		w.i32(int64(n))
	}
	for k := range levelsMax + 2 {
		w.i32(int64(v.starts[min(k, levels)]))
	}
	for _, p := range []gpu.Ptr{r.samplesAt, r.airAt, r.worldAt, r.mapAt, work.tables} {
		w.ptr(p)
	}
	l := r.layout
	for _, n := range []int{l.stride, l.columns, l.sky, l.water, l.stars} {
		w.u64(uint64(n))
	}
	for _, p := range []gpu.Ptr{work.sums, work.mirror, work.wet, work.edges, work.frames} {
		w.ptr(p)
	}
	return w.b
}

// draw queues the kernels.
func (r *CUDARenderer) draw(frames int) error {
	const marchThreads, pixelThreads = 64, 256
	acc, work := r.cuda.acc, &r.cuda.work
	width, pixels := r.view.width, int64(r.view.width)*int64(r.view.height)
	columns := (width + marchThreads - 1) / marchThreads
	skies := (width*(r.view.height/2) + pixelThreads - 1) / pixelThreads
	quads := (width/2*(r.view.height/2) + pixelThreads - 1) / pixelThreads
	return firstError(
		acc.begin(),
		acc.clear(work.mirror, pixels*8*int64(frames)),
		acc.clear(work.wet, pixels*4*int64(frames)),
		acc.launch(kernelMarch, columns, frames, marchThreads, work.job, 0),
		acc.launch(kernelSky, skies, frames, pixelThreads, work.job, 0),
		acc.launch(kernelPlanes, quads, frames, pixelThreads, work.job, 0),
		acc.end(),
	)
}
