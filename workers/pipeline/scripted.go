package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"telefuser/workers/contract"
	"telefuser/workers/media"
)

// errScripted is the fault of a scripted pipeline that belongs to no class.
var errScripted = errors.New("pipeline: scripted: internal fault")

// Scripted is a pipeline of solid colours that is late, fails, hangs or crashes as its script and a request's prompt say. Tests of
// everything above pipelines stand on it. It is in the table of programs built with the tag "faults" alone: no other reaches it by a name.
type Scripted struct {
	words string
}

// NewScripted makes the pipeline. The words hold for Load and for every session; those of a request's prompt come on top. They are
//
//	frames=29     deliver so many frames in place of the request's
//	step_ms=50    take so long for each chunk
//	load_ms=200   take so long to load
//	moved=40      say in each chunk, before anything else, that so many hundredths of all work are done
//	fail=oom@2    fail at chunk 2; oom, device, invalid or internal; at load and open as well
//	hang@3        stay in chunk 3 until the context ends
//	deaf          do not hear that a context has ended, in waits and in hangs
//	crash@1       end the process at chunk 1, with exit code 3; crash=7@1 with 7
//	panic@1       panic at chunk 1
//	kill@1        kill the process that started this one, its worker, as hard as the kernel can
//	once=PATH     faults strike only the first one who can create that file
func NewScripted(words string) *Scripted { return &Scripted{words: words} }

// Contract is terrain's with another name.
func (p *Scripted) Contract() contract.Contract {
	c := terrainContract()
	c.Name = "scripted"
	return c
}

// Load waits and fails as scripted.
func (p *Scripted) Load(ctx context.Context, report func(share float64)) error {
	s, err := parseScript(newScript(), p.words)
	if err != nil {
		return err
	}
	report(0)
	if err := s.wait(ctx, s.load); err != nil {
		return err
	}
	if err := s.strike(ctx, scriptAtLoad); err != nil {
		return err
	}
	report(1)
	return nil
}

// Open reads the prompt's script.
func (p *Scripted) Open(ctx context.Context, req Request) (Session, error) {
	s, err := parseScript(newScript(), p.words)
	if err != nil {
		return nil, err
	}
	if s, err = parseScript(s, req.Prompt); err != nil {
		return nil, err
	}
	if req.Width < 2 || req.Height < 2 || req.Width%2+req.Height%2 != 0 || req.FPS < 1 {
		return nil, fmt.Errorf("%w: %dx%d at %d fps", ErrInvalid, req.Width, req.Height, req.FPS)
	}
	if err := s.strike(ctx, scriptAtOpen); err != nil {
		return nil, err
	}
	if s.frames == 0 {
		s.frames = req.Frames
	}
	return &scriptedSession{script: s, req: req, moved: func(float64) {}}, nil
}

// Close has nothing to free.
func (p *Scripted) Close() error { return nil }

type scriptedSession struct {
	script script
	req    Request
	chunk  int
	sent   int
	moved  func(share float64)

	mu      sync.Mutex
	applied Applied
}

// Control keeps the newest keys and its id for the next chunk.
func (s *scriptedSession) Control(_ context.Context, c Control) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Keys != nil {
		if !contract.ValidKeys(*c.Keys) {
			return fmt.Errorf("%w: keys %q", ErrInvalid, *c.Keys)
		}
		s.applied.Keys = *c.Keys
	}
	if c.ID != "" {
		s.applied.ControlIDs = []string{c.ID}
	}
	return nil
}

// Next waits and fails as scripted, then makes a chunk of one colour.
func (s *scriptedSession) Next(ctx context.Context) (Chunk, error) {
	if s.script.frames > 0 && s.sent >= s.script.frames {
		return Chunk{}, io.EOF
	}
	started := time.Now()
	if s.script.moved > 0 {
		s.moved(float64(s.script.moved) / 100)
	}
	if err := s.script.wait(ctx, s.script.step); err != nil {
		return Chunk{}, err
	}
	if err := s.script.strike(ctx, s.chunk); err != nil {
		return Chunk{}, err
	}
	count := chunkFrames(s.chunk, s.sent, s.script.frames)
	chunk := Chunk{Index: s.chunk, Frames: make([]media.Frame, count)}
	for i := range chunk.Frames {
		frame := media.NewFrame(s.req.Width, s.req.Height)
		if s.chunk%2 == 0 { // the others are drawn in memory of their own
			frame = s.req.newFrame()
		}
		paintSolid(frame, s.req.Seed, s.sent+i)
		chunk.Frames[i] = frame
	}
	s.mu.Lock()
	chunk.Applied, s.applied.ControlIDs = s.applied, nil
	s.mu.Unlock()
	s.sent += count
	s.chunk++
	chunk.Stages = []StageFact{{Name: StageEncode}, {Name: StageGenerate, DurationNS: time.Since(started).Nanoseconds()}, {Name: StageDecode}}
	state, err := json.Marshal(map[string]int{"frames": s.sent})
	chunk.State = state
	return chunk, err
}

// OnMove has what it is told called as scripted.
func (s *scriptedSession) OnMove(moved func(share float64)) { s.moved = moved }

// Close has nothing to free.
func (s *scriptedSession) Close() error { return nil }

// paintSolid paints a frame in the colour that follows from the seed and its number.
func paintSolid(frame media.Frame, seed int64, number int) {
	y, u, v := frame.Planes()
	fill := func(plane []byte, value byte) {
		for i := range plane {
			plane[i] = value
		}
	}
	fill(y, byte(16+(number*5)%220))
	fill(u, byte(64+(uint64(seed)*37)%128))
	fill(v, byte(64+(uint64(seed)*91)%128))
}

// wait passes time, and ends early with the context's cause unless the script is deaf.
func (s script) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	if s.deaf {
		<-timer.C
		return nil
	}
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// strike does what the script holds for a place.
func (s script) strike(ctx context.Context, place int) error {
	if !slices.Contains([]int{s.fail, s.hang, s.crash, s.panics, s.kill}, place) || !s.first() {
		return nil
	}
	switch place {
	case s.crash:
		os.Exit(s.exitCode)
	case s.panics:
		panic("pipeline: scripted panic")
	case s.kill:
		if parent, err := os.FindProcess(os.Getppid()); err == nil {
			_ = parent.Kill() // the kernel ends this process with it
		}
		select {}
	case s.hang:
		if s.deaf {
			select {}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return fmt.Errorf("pipeline: scripted fault: %w", s.failure)
}

// first reports whether this fault may strike.
func (s script) first() bool {
	if s.once == "" {
		return true
	}
	file, err := os.OpenFile(s.once, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	return file.Close() == nil
}
