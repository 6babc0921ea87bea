package terrain

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"telefuser/workers/gpu"
	"telefuser/workers/media"
)

// Shot is one frame to draw: where the camera is, and the flight's clock.
type Shot struct {
	Pose  Pose
	Ticks int64
}

// CUDARenderer draws frames of one world at one size on a GPU, with the bytes of Renderer. The map is baked on the processor and kept
// on the device. It is for one goroutine at a time.
type CUDARenderer struct {
	cuda   *CUDA
	world  *World
	view   *view
	air    *air
	layout tableLayout
	// scenes and tables are those of the frames under way.
	scenes []scene
	tables []words
	bakers []*baker
	blocks blockIndex
	// baked are the blocks that the device does not have yet.
	baked []byte
	jobs  []blockJob
	// memory is the map, the world's tables and the samples, on the device; stale says that the world's are to be sent.
	memory, mapAt, worldAt, samplesAt, airAt gpu.Ptr
	stale                                    bool
}

// NewCUDARenderer makes a renderer for pictures of the given even size in pixels and takes about 40 MB of the device's memory.
func (c *CUDA) NewCUDARenderer(ctx context.Context, world *World, width, height int) (*CUDARenderer, error) {
	v, err := newView(width, height)
	if err != nil {
		return nil, err
	}
	r := &CUDARenderer{cuda: c, view: v, layout: layoutOf(v), scenes: make([]scene, batchFrames), tables: make([]words, batchFrames)}
	for i := range r.scenes {
		r.scenes[i] = newScene(v)
	}
	for range runtime.GOMAXPROCS(0) {
		r.bakers = append(r.bakers, &baker{})
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

// SetWorld changes the look of what is drawn; the map is baked anew.
func (r *CUDARenderer) SetWorld(world *World) {
	r.world, r.air, r.stale = world, newAir(world, r.view), true
	r.blocks.look++
	for i := range r.scenes {
		r.scenes[i].world, r.scenes[i].air = world, r.air
	}
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
	var times Times
	for i, frame := range dst {
		if frame.Width != r.view.width || frame.Height != r.view.height || len(frame.Data) != media.FrameBytes(frame.Width, frame.Height) || len(shots) != len(dst) {
			return times, fmt.Errorf("%w: frame %d of %dx%d for a renderer of %dx%d, %d shots", ErrConfig, i, frame.Width, frame.Height, r.view.width, r.view.height, len(shots))
		}
	}
	for len(shots) > 0 {
		count := min(len(shots), batchFrames)
		started := time.Now()
		eyes := r.prepare(shots[:count], altitude)
		times.Encode += time.Since(started)
		for from := 0; from < count; {
			to, cost, err := r.batch(ctx, dst, eyes, from)
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return times, context.Cause(ctx)
			}
			if err != nil {
				return times, fmt.Errorf("terrain: render: %w", err)
			}
			times, from = times.Add(cost), to
		}
		dst, shots = dst[count:], shots[count:]
	}
	return times, nil
}

// prepare makes the scenes and tables of some frames.
func (r *CUDARenderer) prepare(shots []Shot, altitude float64) []eyePoint {
	eyes := make([]eyePoint, len(shots))
	r.parallel(len(shots), func(_, i int) {
		eyes[i] = r.world.eye(shots[i].Pose, altitude)
		r.scenes[i].prepare(eyes[i], shots[i].Ticks)
		r.scenes[i].packTables(&r.tables[i], r.layout)
	})
	return eyes
}

// batch draws prepared frames from one on, as many as the map can hold at once, and answers the first that is left.
func (r *CUDARenderer) batch(ctx context.Context, dst []media.Frame, eyes []eyePoint, from int) (to int, cost Times, err error) {
	started := time.Now()
	r.jobs = r.jobs[:0]
	r.blocks.begin()
	for to = from; to < len(eyes); to++ {
		var fits bool
		if r.jobs, fits = r.blocks.claim(r.jobs, &r.scenes[to], eyes[to]); !fits {
			break
		}
	}
	r.bake()
	err = r.cuda.do(ctx, func() error {
		if err := r.upload(from, to); err != nil {
			return err
		}
		if err := r.draw(to - from); err != nil {
			return err
		}
		cost.Encode = time.Since(started)
		cost.Generate, err = r.cuda.acc.fetch(dst[from:to], r.cuda.work.frames)
		return err
	})
	cost.Decode = max(time.Since(started)-cost.Encode-cost.Generate, 0)
	if err != nil {
		r.blocks.forget() // nobody knows which blocks have arrived
	}
	return to, cost, err
}

// bake computes the missing blocks.
func (r *CUDARenderer) bake() {
	if need := len(r.jobs) * bakedBytes; cap(r.baked) < need {
		r.baked = make([]byte, need)
	}
	r.baked = r.baked[:len(r.jobs)*bakedBytes]
	r.parallel(len(r.jobs), func(worker, i int) {
		bakedBlock(r.baked[i*bakedBytes:][:bakedBytes]).bake(r.bakers[worker], r.jobs[i])
	})
}

// upload sends what the frames need and the device does not have.
func (r *CUDARenderer) upload(from, to int) error {
	acc, work := r.cuda.acc, &r.cuda.work
	if err := r.cuda.reserve(r.view, r.layout); err != nil {
		return err
	}
	if r.stale {
		var w words
		packWorld(&w, r.world, r.air)
		if err := acc.send(r.worldAt, w.b); err != nil {
			return err
		}
		packSamples(&w, r.view, r.air)
		if err := acc.send(r.samplesAt, w.b); err != nil {
			return err
		}
		r.stale = false
	}
	for rest := r.baked; len(rest) > 0; {
		piece := rest[:min(len(rest), bakedMax*bakedBytes)]
		rest = rest[len(piece):]
		if err := acc.send(work.baked, piece); err != nil {
			return err
		}
		const threads = 256
		if err := acc.launch(kernelPlace, len(piece)/bakedBytes, 1, threads, work.baked, r.mapAt); err != nil {
			return err
		}
	}
	for i := from; i < to; i++ {
		if err := acc.send(work.tables+gpu.Ptr((i-from)*r.layout.stride), r.tables[i].b); err != nil {
			return err
		}
	}
	return acc.send(work.job, r.packJob(to-from))
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

// parallel calls work for each of count tasks on as many goroutines as there are bakers, and waits for all.
func (r *CUDARenderer) parallel(count int, work func(worker, task int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for worker := range min(len(r.bakers), count) {
		group.Go(func() {
			for task := int(next.Add(1)) - 1; task < count; task = int(next.Add(1)) - 1 {
				work(worker, task)
			}
		})
	}
	group.Wait()
}
