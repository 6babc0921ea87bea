package terrain

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"telefuser/internal/cputime"
	"telefuser/workers/media"
)

// plansSpare is how many plans are kept for their memory: one is made while another is drawn and a third one waits.
const plansSpare = 2

// plan is some frames made ready for the processor: their tables, and the blocks that each of them needs and the map does not have.
type plan struct {
	renderer *Renderer
	cuts     int64
	scenes   []scene
	eyes     []eyePoint
	jobs     []blockJob
	// ends are the numbers of jobs up to each frame; blocks are the first of the jobs, baked.
	ends   []int
	blocks []bakedCells
}

// Prepare makes the tables of some frames and bakes what the map lacks for them. altitude is a multiple of the usual height of flight. Its time is all
// Encode's.
func (r *Renderer) Prepare(shots []Shot, altitude float64) (Plan, Times) {
	started := time.Now()
	var cpu cputime.Meter
	if cut := r.cut.Load(); cut != r.cuts {
		r.cuts = cut
		r.index.forget()
	}
	p := r.newPlan(len(shots))
	spread(&cpu, r.threads, len(shots), func(_, i int) {
		s := &p.scenes[i]
		s.world, s.air, s.levels = r.world, r.air, r.levels
		p.eyes[i] = r.world.eye(shots[i].Pose, altitude)
		s.prepare(p.eyes[i], shots[i].Ticks)
	})
	cpu.Start()
	for i := range shots {
		r.index.begin() // a frame's blocks go into the map right before it is drawn
		p.jobs, _ = r.index.claim(p.jobs, &p.scenes[i], p.eyes[i])
		p.ends = append(p.ends, len(p.jobs))
	}
	cpu.Stop()
	ahead := min(len(p.jobs), blocksAheadMax)
	p.blocks = slices.Grow(p.blocks[:0], ahead)[:ahead]
	spread(&cpu, r.threads, ahead, func(worker, i int) { p.blocks[i].bake(r.bakers[worker], p.jobs[i]) })
	return p, Times{Encode: time.Since(started), CPU: cpu.Sum()}
}

// newPlan takes a spare plan, or makes one.
func (r *Renderer) newPlan(frames int) *plan {
	var p *plan
	select {
	case p = <-r.spare:
	default:
		p = &plan{renderer: r}
	}
	for len(p.scenes) < frames {
		p.scenes = append(p.scenes, newScene(r.view))
	}
	p.cuts, p.jobs, p.ends = r.cuts, p.jobs[:0], p.ends[:0]
	p.eyes = slices.Grow(p.eyes[:0], frames)[:frames]
	return p
}

// Draw draws the frames one after the other.
func (p *plan) Draw(ctx context.Context, dst []media.Frame) (Times, error) {
	r, times := p.renderer, Times{}
	if err := r.view.fits(dst, len(p.ends)); err != nil {
		return times, err
	}
	if p.cuts != r.cut.Load() {
		return times, errCut
	}
	from := 0
	var cpu cputime.Meter
	for i, frame := range dst {
		if ctx.Err() != nil {
			r.cut.Add(1)
			return times, context.Cause(ctx)
		}
		started := time.Now()
		p.place(&cpu, from, p.ends[i], p.scenes[i].world)
		from = p.ends[i]
		placed := time.Since(started)
		drawing, turning := r.draw(&cpu, frame, &p.scenes[i])
		times = times.Add(Times{Encode: placed, Generate: drawing, Decode: turning})
	}
	select {
	case r.spare <- p:
	default:
	}
	times.CPU = cpu.Sum()
	return times, nil
}

// place puts a frame's blocks into the map, and bakes those that were not baked ahead.
func (p *plan) place(cpu *cputime.Meter, from, to int, world *World) {
	r, ahead := p.renderer, min(to, len(p.blocks))
	cpu.Start()
	for i := from; i < ahead; i++ {
		p.blocks[i].place(p.jobs[i].key, r.levels[p.jobs[i].level])
	}
	cpu.Stop()
	late := p.jobs[max(from, ahead):to]
	if len(late) == 0 {
		return
	}
	spread(cpu, r.threads, len(late), func(worker, i int) {
		b := r.late[worker]
		b.world = world
		b.bake(late[i], r.levels[late[i].level])
	})
}

// draw renders all strips of a frame and answers the mean time that a goroutine spent on columns and on planes.
func (r *Renderer) draw(cpu *cputime.Meter, dst media.Frame, s *scene) (drawing, turning time.Duration) {
	count := (dst.Width + stripWidth - 1) / stripWidth
	var drawn, turned atomic.Int64
	spread(cpu, r.threads, count, func(worker, i int) {
		work := r.strips[worker]
		started := time.Now()
		x0 := i * stripWidth
		width := min(stripWidth, dst.Width-x0)
		s.columns(x0, width, work)
		middle := time.Now()
		work.planes(dst, x0, width)
		drawn.Add(int64(middle.Sub(started)))
		turned.Add(int64(time.Since(middle)))
	})
	threads := int64(min(r.threads, count))
	return time.Duration(drawn.Load() / threads), time.Duration(turned.Load() / threads)
}
