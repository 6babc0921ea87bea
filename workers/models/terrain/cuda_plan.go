package terrain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"telefuser/internal/cputime"
	"telefuser/workers/gpu"
	"telefuser/workers/media"
)

// cudaPlan is some frames made ready for the device: their tables, and the blocks that the map lacks for them, batch by batch.
type cudaPlan struct {
	renderer *CUDARenderer
	cuts     int64
	scenes   []scene
	tables   []words
	eyes     []eyePoint
	batches  []cudaBatch
	jobs     []blockJob
	// baked are the first of the jobs, as many as are baked ahead; late are those of one batch that were not.
	baked, late []byte
	// worldTables and sampleTables are empty where the device has the world's.
	worldTables, sampleTables words
}

// cudaBatch is frames that the map can hold at once, from one to another, and the jobs that bring what it lacks.
type cudaBatch struct {
	from, to           int
	firstJob, afterJob int
}

// Prepare makes the tables of some frames and bakes what the map lacks for them. altitude is a multiple of the usual height of flight. Its time is all
// Encode's.
func (r *CUDARenderer) Prepare(shots []Shot, altitude float64) (Plan, Times) {
	started := time.Now()
	var cpu cputime.Meter
	if cut := r.cut.Load(); cut != r.cuts {
		r.cuts, r.stale = cut, true
		r.blocks.forget()
	}
	p := r.newPlan(len(shots))
	if r.stale {
		packWorld(&p.worldTables, r.world, r.air)
		packSamples(&p.sampleTables, r.view, r.air)
		r.stale = false
	}
	spread(&cpu, len(r.bakers), len(shots), func(_, i int) {
		s := &p.scenes[i]
		s.world, s.air = r.world, r.air
		p.eyes[i] = r.world.eye(shots[i].Pose, altitude)
		s.prepare(p.eyes[i], shots[i].Ticks)
		s.packTables(&p.tables[i], r.layout)
	})
	cpu.Start()
	for from := 0; from < len(shots); {
		b := cudaBatch{from: from, firstJob: len(p.jobs)}
		r.blocks.begin()
		for b.to = from; b.to < min(len(shots), from+batchFrames); b.to++ {
			var fits bool
			if p.jobs, fits = r.blocks.claim(p.jobs, &p.scenes[b.to], p.eyes[b.to]); !fits {
				break
			}
		}
		b.afterJob, from = len(p.jobs), b.to
		p.batches = append(p.batches, b)
	}
	cpu.Stop()
	p.baked = bakeAll(&cpu, p.baked, r.bakers, p.jobs[:min(len(p.jobs), blocksAheadMax)])
	return p, Times{Encode: time.Since(started), CPU: cpu.Sum()}
}

// newPlan takes a spare plan, or makes one.
func (r *CUDARenderer) newPlan(frames int) *cudaPlan {
	var p *cudaPlan
	select {
	case p = <-r.spare:
	default:
		p = &cudaPlan{renderer: r}
	}
	for len(p.scenes) < frames {
		p.scenes, p.tables = append(p.scenes, newScene(r.view)), append(p.tables, words{})
	}
	p.cuts, p.batches, p.jobs = r.cuts, p.batches[:0], p.jobs[:0]
	p.worldTables.b, p.sampleTables.b = p.worldTables.b[:0], p.sampleTables.b[:0]
	p.eyes = slices.Grow(p.eyes[:0], frames)[:frames]
	return p
}

// bakeAll bakes jobs into memory, which it may replace, as the device takes them.
func bakeAll(cpu *cputime.Meter, memory []byte, bakers []*baker, jobs []blockJob) []byte {
	need := len(jobs) * bakedBytes
	if cap(memory) < need {
		memory = make([]byte, need)
	}
	memory = memory[:need]
	spread(cpu, len(bakers), len(jobs), func(worker, i int) {
		bakedBlock(memory[i*bakedBytes:][:bakedBytes]).bake(bakers[worker], jobs[i])
	})
	return memory
}

// Draw draws the frames batch by batch. Its errors are those of package gpu, and ctx's.
func (p *cudaPlan) Draw(ctx context.Context, dst []media.Frame) (Times, error) {
	r, times := p.renderer, Times{}
	if err := r.view.fits(dst, len(p.eyes)); err != nil {
		return times, err
	}
	if p.cuts != r.cut.Load() {
		return times, errCut
	}
	for _, b := range p.batches {
		cost, err := p.batch(ctx, dst[b.from:b.to], b)
		if err != nil {
			r.cut.Add(1)
		}
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return times, context.Cause(ctx)
		}
		if err != nil {
			return times, fmt.Errorf("terrain: render: %w", err)
		}
		times = times.Add(cost)
	}
	select {
	case r.spare <- p:
	default:
	}
	return times, nil
}

// batch draws one batch's frames.
func (p *cudaPlan) batch(ctx context.Context, dst []media.Frame, b cudaBatch) (cost Times, err error) {
	started := time.Now()
	r, baked := p.renderer, p.baked
	if b.afterJob*bakedBytes <= len(baked) {
		baked = baked[b.firstJob*bakedBytes : b.afterJob*bakedBytes]
	} else {
		for _, by := range r.late {
			by.world = p.scenes[b.from].world
		}
		var cpu cputime.Meter
		p.late = bakeAll(&cpu, p.late, r.late, p.jobs[b.firstJob:b.afterJob])
		baked, cost.CPU = p.late, cpu.Sum()
	}
	err = r.cuda.do(ctx, func() error {
		if err := p.upload(b, baked); err != nil {
			return err
		}
		if err := r.draw(len(dst)); err != nil {
			return err
		}
		cost.Encode = time.Since(started)
		cost.Generate, err = r.cuda.acc.fetch(dst, r.cuda.work.frames)
		return err
	})
	cost.Decode = max(time.Since(started)-cost.Encode-cost.Generate, 0)
	return cost, err
}

// upload sends what a batch needs and the device does not have.
func (p *cudaPlan) upload(b cudaBatch, baked []byte) error {
	r := p.renderer
	acc, work := r.cuda.acc, &r.cuda.work
	if err := r.cuda.reserve(r.view, r.layout); err != nil {
		return err
	}
	if len(p.worldTables.b) > 0 {
		if err := firstError(acc.send(r.worldAt, p.worldTables.b), acc.send(r.samplesAt, p.sampleTables.b)); err != nil {
			return err
		}
		p.worldTables.b = p.worldTables.b[:0]
	}
	for rest := baked; len(rest) > 0; {
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
	for i := b.from; i < b.to; i++ {
		if err := acc.send(work.tables+gpu.Ptr((i-b.from)*r.layout.stride), p.tables[i].b); err != nil {
			return err
		}
	}
	return acc.send(work.job, r.packJob(b.to-b.from))
}
