package terrain

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"telefuser/workers/media"
)

// Renderer draws frames of one world at one size and keeps the map around the camera. It has two halves that may work at the same time, each
// for one goroutine at a time: Prepare and SetWorld look ahead, and the plans that Prepare makes are drawn, each once and in the order of
// their making. Inside each half as many goroutines work as GOMAXPROCS allows, with the same result for any number.
type Renderer struct {
	view    *view
	threads int

	// The half that prepares. index tells blocks of an earlier look from those of the present one.
	world  *World
	air    *air
	index  blockIndex
	bakers []*baker
	cuts   int64

	// The half that draws.
	levels []*level
	strips []*strip
	late   []*baker

	// cut counts the plans that were not drawn to their end, after which nobody knows which blocks are in the map.
	cut   atomic.Int64
	spare chan *plan
}

// Times are the durations of the stages of a frame or of a chunk: Encode fills the map, Generate draws the columns, Decode turns
// them into planes. CPU is the processor time of all of it in this process, of every thread; 0 where it is not known.
type Times struct {
	Encode, Generate, Decode time.Duration
	CPU                      time.Duration
}

// Add sums two costs.
func (t Times) Add(o Times) Times {
	return Times{Encode: t.Encode + o.Encode, Generate: t.Generate + o.Generate, Decode: t.Decode + o.Decode, CPU: t.CPU + o.CPU}
}

// Shot is one frame to draw: where the camera is, and the flight's clock.
type Shot struct {
	Pose  Pose
	Ticks int64
}

// Plan is some frames made ready to be drawn.
type Plan interface {
	// Draw draws the frames, which must be as many as the shots and have the renderer's size. It ends early with ctx's cause. After an error the
	// renderer's later plans that are made already cannot be drawn either.
	Draw(ctx context.Context, dst []media.Frame) (Times, error)
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
	levels := len(v.starts) - 1
	r := &Renderer{view: v, threads: threads, index: newBlockIndex(levels), spare: make(chan *plan, plansSpare)}
	for range levels {
		r.levels = append(r.levels, &level{})
	}
	for range threads {
		r.bakers, r.late = append(r.bakers, &baker{}), append(r.late, &baker{})
		r.strips = append(r.strips, newStrip(height))
	}
	r.SetWorld(world)
	return r, nil
}

// SetWorld changes the look of what is prepared from now on; the map is baked anew.
func (r *Renderer) SetWorld(world *World) {
	r.world, r.air = world, newAir(world, r.view)
	r.index.forget()
	for _, b := range r.bakers {
		b.world = world
	}
}

// Render draws the world as seen from pose into dst, which must have the renderer's size. ticks is the flight's
// clock, which clouds and water move with. altitude is a multiple of the usual height of flight.
func (r *Renderer) Render(dst media.Frame, pose Pose, altitude float64, ticks int64) (Times, error) {
	if err := r.view.fits([]media.Frame{dst}, 1); err != nil {
		return Times{}, err
	}
	plan, prepared := r.Prepare([]Shot{{Pose: pose, Ticks: ticks}}, altitude)
	drawn, err := plan.Draw(context.Background(), []media.Frame{dst})
	return prepared.Add(drawn), err
}

// fits checks frames that are to be drawn.
func (v *view) fits(dst []media.Frame, shots int) error {
	if len(dst) != shots {
		return fmt.Errorf("%w: %d frames for %d shots", ErrConfig, len(dst), shots)
	}
	for i, frame := range dst {
		if frame.Width != v.width || frame.Height != v.height || len(frame.Data) != media.FrameBytes(v.width, v.height) {
			return fmt.Errorf("%w: frame %d of %dx%d for a renderer of %dx%d", ErrConfig, i, frame.Width, frame.Height, v.width, v.height)
		}
	}
	return nil
}

// errCut is why a plan cannot be drawn any more.
var errCut = fmt.Errorf("%w: a plan before this one was not drawn to its end", ErrConfig)
