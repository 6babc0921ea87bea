package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"telefuser/workers/stage"
)

// promptBytesMax bounds the prompt of a control, in bytes.
const promptBytesMax = 128 << 10

// course is a session's way through the stages of its pipeline: what was asked for, and what came out. next belongs to one goroutine;
// Control may come from another.
type course struct {
	total int
	live  bool
	// latents is how many latent frames a chunk has.
	latents int
	// chunksMax is how many chunks a live session may have; 0: no end.
	chunksMax int
	// goesOn says that the first chunk is none of a video's first, so that it has as many frames as a later one.
	goesOn bool
	// request makes what a stage can begin with before the controls are there; nil where there is none. It runs ahead of wish.
	request func(index int) stage.Value
	// wish makes what the first stage is asked for, translate what everybody above understands of an error.
	wish      func(index, frames int, s steering) stage.Value
	translate func(error) error

	flow      *stage.Session
	scheduler *stage.Scheduler
	slot      int

	// asked counts the chunks and frames that were asked for, taken those that next has given.
	asked, askedFrames, taken int
	// requested counts the chunks whose requests were pushed.
	requested int
	closed    bool

	mu       sync.Mutex
	controls controls
}

// chunksOut is the artifact that leaves every pipeline's graph.
func chunksOut() stage.Artifact[Chunk] { return stage.NewArtifact[Chunk]("frames") }

// Control takes keys, a prompt, a pose, a path or a reset for the next chunk. A bounded request has its flight fixed and refuses them.
func (c *course) Control(_ context.Context, in Control) error {
	if !c.live {
		return fmt.Errorf("%w: a bounded request takes no controls", ErrInvalid)
	}
	if in.Prompt != nil && len(*in.Prompt) > promptBytesMax {
		return fmt.Errorf("%w: prompt of %d bytes", ErrInvalid, len(*in.Prompt))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.controls.put(in)
}

// Overwritten is how many snapshots of keys were replaced before any chunk was made with them.
func (c *course) Overwritten() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.controls.overwritten
}

// Next gives the next chunk: 13 frames at first, then 16, and what is left at the end. A bounded request's later chunks are begun meanwhile; a live session's
// begin with the controls of this moment. When ctx ends while a chunk is made, the chunk is there for the next call.
func (c *course) Next(ctx context.Context) (Chunk, error) {
	if c.closed || c.live && c.chunksMax > 0 && c.taken == c.chunksMax {
		return Chunk{}, io.EOF
	}
	if ctx.Err() != nil {
		return Chunk{}, context.Cause(ctx)
	}
	if err := c.ask(ctx); err != nil {
		return Chunk{}, c.translate(err)
	}
	out, err := c.flow.Next(ctx)
	if errors.Is(err, io.EOF) {
		return Chunk{}, io.EOF
	}
	if err != nil {
		return Chunk{}, c.translate(err)
	}
	c.taken++
	chunk, _ := chunksOut().From(out.Values)
	chunk.Timing = timingOf(out.Facts, chunk.Stages, c.flow.Latencies(), c.scheduler.Diagnostics())
	return chunk, nil
}

// ask pushes what may be pushed: all that finds room of a bounded request, and one chunk of a live session when none is under way.
func (c *course) ask(ctx context.Context) error {
	for c.live && c.asked == c.taken || c.askedFrames < c.total {
		if ok, err := c.prefetch(); !ok || err != nil {
			return err
		}
		frames := c.chunkFrames(c.asked, c.askedFrames)
		if c.live {
			c.mu.Lock()
			s := c.controls.take()
			c.mu.Unlock()
			if err := c.flow.Push(ctx, int64(c.asked), c.wish(c.asked, frames, s)); err != nil {
				return err
			}
		} else if ok, err := c.flow.TryPush(int64(c.asked), c.wish(c.asked, frames, steering{})); !ok || err != nil {
			return err
		}
		c.asked++
		c.askedFrames += frames
	}
	return nil
}

// requestsAhead is how many chunks a request may be ahead of the controls.
const requestsAhead = 2

// prefetch pushes the requests that find room, up to requestsAhead ahead; false means that not even the next chunk's did.
func (c *course) prefetch() (bool, error) {
	if c.request == nil {
		return true, nil
	}
	for c.requested <= c.asked+requestsAhead && (c.live || int64(c.requested) < c.chunks()) {
		ok, err := c.flow.TryPush(int64(c.requested), c.request(c.requested))
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		c.requested++
	}
	return c.requested > c.asked, nil
}

// chunkFrames is how many frames a chunk of the session has, after sent frames.
func (c *course) chunkFrames(index, sent int) int {
	if c.goesOn {
		index++
	}
	return chunkFramesOf(c.latents, index, sent, c.total)
}

// chunks is how many chunks a bounded request has.
func (c *course) chunks() int64 {
	count := 0
	for sent := 0; sent < c.total; count++ {
		sent += c.chunkFrames(count, sent)
	}
	return int64(count)
}

// end waits until no stage works for the session any more; then let go frees what they kept and the slot. Twice is no error.
func (c *course) end(letGo func(slot int) error) error {
	if c.closed {
		return nil
	}
	c.closed = true
	err := c.flow.Close(context.Background())
	if err == nil { // else something may still work with what it has, and its name is lost
		err = letGo(c.slot)
	}
	return c.translate(err)
}
