package terrain

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"telefuser/workers/media"
)

// Renderer draws frames of one world at one size. It keeps the map around the camera and is for one goroutine at a time; inside a
// frame it uses as many as GOMAXPROCS allows, with the same result for any number.
type Renderer struct {
	world *World
	scene scene
	// lookVersion tells blocks of an earlier look from those of the present one.
	lookVersion int32
	threads     int
	bakers      []*baker
	strips      []*strip
	jobs        []blockJob
	// times are what the last frame cost.
	times Times
}

// Times are the durations of the stages of a frame or of a chunk: Encode fills the map, Generate draws the columns, Decode turns
// them into planes.
type Times struct {
	Encode, Generate, Decode time.Duration
}

// Add sums two costs.
func (t Times) Add(o Times) Times {
	return Times{Encode: t.Encode + o.Encode, Generate: t.Generate + o.Generate, Decode: t.Decode + o.Decode}
}

// NewRenderer makes a renderer for pictures of the given even size in pixels. threads is the number of goroutines to use; 0 means
// GOMAXPROCS.
func NewRenderer(world *World, width, height, threads int) (*Renderer, error) {
	v, err := newView(width, height)
	if err != nil {
		return nil, err
	}
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	r := &Renderer{threads: threads}
	r.scene = newScene(v)
	for range len(v.starts) - 1 {
		r.scene.levels = append(r.scene.levels, &level{})
	}
	for range threads {
		r.bakers = append(r.bakers, &baker{})
		r.strips = append(r.strips, newStrip(height))
	}
	r.SetWorld(world)
	return r, nil
}

// SetWorld changes the look of what is drawn; the map is baked anew.
func (r *Renderer) SetWorld(world *World) {
	r.world = world
	r.lookVersion++
	r.scene.world = world
	r.scene.air = newAir(world, r.scene.view)
	for _, b := range r.bakers {
		b.world = world
	}
}

// Render draws the world as seen from pose into dst, which must have the renderer's size. ticks is the flight's
// clock, which clouds and water move with. altitude is a multiple of the usual height of flight.
func (r *Renderer) Render(dst media.Frame, pose Pose, altitude float64, ticks int64) (Times, error) {
	v := r.scene.view
	if dst.Width != v.width || dst.Height != v.height || len(dst.Data) != media.FrameBytes(v.width, v.height) {
		return Times{}, fmt.Errorf("%w: frame of %dx%d for a renderer of %dx%d", ErrConfig, dst.Width, dst.Height, v.width, v.height)
	}
	started := time.Now()
	eye := r.world.eye(pose, altitude)
	r.scene.prepare(eye, ticks)
	r.fillMap(eye)
	encoded := time.Since(started)
	drawing, turning := r.draw(dst)
	return Times{Encode: encoded, Generate: drawing, Decode: turning}, nil
}

// fillMap bakes the blocks that the frame sees and that are not there.
func (r *Renderer) fillMap(eye eyePoint) {
	s := &r.scene
	w := wedge{x: eye.x, z: eye.z, sin: s.sin, cos: s.cos, open: s.view.open}
	r.jobs = r.jobs[:0]
	for k, l := range s.levels {
		if near := max(s.view.borders[k], s.nearest); near < s.view.borders[k+1] {
			r.jobs = l.missing(r.jobs, k, w, near, s.view.borders[k+1], r.lookVersion)
		}
	}
	var next atomic.Int64
	r.parallel(func(worker int) {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(r.jobs) {
				return
			}
			r.bakers[worker].bake(r.jobs[i], s.levels[r.jobs[i].level])
		}
	})
}

// draw renders all strips and answers the mean time that a goroutine spent on columns and on planes.
func (r *Renderer) draw(dst media.Frame) (drawing, turning time.Duration) {
	count := (dst.Width + stripWidth - 1) / stripWidth
	var next, drawn, turned atomic.Int64
	r.parallel(func(worker int) {
		work := r.strips[worker]
		for {
			i := int(next.Add(1)) - 1
			if i >= count {
				return
			}
			started := time.Now()
			x0 := i * stripWidth
			width := min(stripWidth, dst.Width-x0)
			for column := range width {
				r.scene.column(x0+column, work, work.sums[column*work.stride:][:dst.Height])
			}
			middle := time.Now()
			work.planes(dst, x0, width)
			drawn.Add(int64(middle.Sub(started)))
			turned.Add(int64(time.Since(middle)))
		}
	})
	threads := int64(min(r.threads, count))
	return time.Duration(drawn.Load() / threads), time.Duration(turned.Load() / threads)
}

// parallel runs work once for each goroutine and waits for all of them.
func (r *Renderer) parallel(work func(worker int)) {
	var group sync.WaitGroup
	for worker := 1; worker < r.threads; worker++ {
		group.Go(func() { work(worker) })
	}
	work(0)
	group.Wait()
}
