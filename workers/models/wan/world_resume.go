package wan

import (
	"context"
	"fmt"

	"telefuser/workers/kernels"
	"telefuser/workers/models/world"
)

// Kept is a chunk as it is remembered to go on elsewhere: its latents and the way of its camera.
type Kept struct {
	// Chunk is the chunk's number, Latents are [chunk, height/8, width/8, Z].
	Chunk   int64
	Latents []float32
	World   world.Snapshot
}

// Window says which chunks a video of so many chunks needs to go on: the first ones that stay and the last ones, oldest first.
func (w *World) Window(chunks int64) []int64 {
	c := w.cfg
	chunk, sink := int64(c.Chunk), int64(max(c.DiT.Sink, 0))
	stay, recent := (sink+chunk-1)/chunk, chunks
	if c.DiT.Local > 0 {
		recent = (int64(c.DiT.Local) - sink - 1) / chunk // those that the window holds beside the one that is made, rounded up
	}
	var all []int64
	for i := range min(stay, chunks) {
		all = append(all, i)
	}
	for i := max(stay, chunks-recent); i < chunks; i++ {
		all = append(all, i)
	}
	return all
}

// A video goes on elsewhere in three parts, each of which belongs to the part of the model that it is named after. While a window holds all
// chunks of the video, keys, values and frames are then what they were; later they are close, because what the kept chunks saw themselves
// is not kept.

// ResumeConditions makes the conditions of the kept chunks and moves on to those of the next one.
func (w *World) ResumeConditions(v *Video, kept []Kept, chunks int64) ([][]float32, error) {
	wanted := w.Window(chunks)
	if len(kept) != len(wanted) {
		return nil, fmt.Errorf("%w: %d kept chunks, want %d", ErrInput, len(kept), len(wanted))
	}
	var conditions [][]float32
	for i, k := range kept {
		if k.Chunk != wanted[i] || len(k.Latents) != w.cfg.Chunk*w.height*w.width*w.cfg.VAE.Z {
			return nil, fmt.Errorf("%w: kept chunk %d of %d numbers", ErrInput, k.Chunk, len(k.Latents))
		}
		c, err := v.conditions.of(k.Chunk)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	v.conditions.next = chunks
	return conditions, nil
}

// ResumeKeys makes the keys and values of the kept chunks again, and stands before the next one.
func (w *World) ResumeKeys(ctx context.Context, v *Video, text *Text, kept []Kept, conditions [][]float32, chunks int64) error {
	for i, k := range kept {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v.cache.frames = k.Chunk * int64(w.cfg.Chunk)
		if err := w.begin(v.cache, conditions[i], k.World); err != nil {
			return err
		}
		if err := w.sampler.Keep(v.cache, text, CutPatches(k.Latents, w.height, w.width, w.cfg.VAE.Z)); err != nil {
			return err
		}
	}
	v.cache.frames = chunks * int64(w.cfg.Chunk)
	return nil
}

// ResumeFrames decodes the kept chunks again, for what the decoder remembers of them, and answers the planes of the last one.
func (w *World) ResumeFrames(ctx context.Context, v *Video, kept []Kept) (last []byte, err error) {
	for _, k := range kept {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if last, err = w.Frames(v, k.Latents); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// Narrow rounds latents to bf16, and Widen reads them again.
func Narrow(latents []float32) []byte { return encode(kernels.BF16, latents) }

// Widen reads what Narrow wrote.
func Widen(data []byte) []float32 { return decode(kernels.BF16, data) }
