package streaming_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"telefuser/streaming"
	"telefuser/workers/media"
)

// engine makes chunks of four frames, whose first byte counts them.
type engine struct {
	// took is how long a chunk takes, keeps says that chunks carry a state, fail ends the source at a chunk.
	took  time.Duration
	keeps bool
	fail  func(chunk int) error
	open  func() error

	notReady  atomic.Bool
	live      atomic.Int64
	liveMax   atomic.Int64
	making    atomic.Int64
	twoAtOnce atomic.Bool
	mu        sync.Mutex
	opened    []streaming.Session
	paths     [][]streaming.Pose
	makers    []string // whose each chunk was, in the order of their making
	timing    func(chunk int) *streaming.Timing
}

const framesPerChunk = 4

func (e *engine) Ready() error {
	if e.notReady.Load() {
		return errors.New("loading")
	}
	return nil
}

func (e *engine) Open(_ context.Context, s streaming.Session) (streaming.Source, error) {
	if e.open != nil {
		if err := e.open(); err != nil {
			return nil, err
		}
	}
	n := e.live.Add(1)
	for most := e.liveMax.Load(); n > most && !e.liveMax.CompareAndSwap(most, n); most = e.liveMax.Load() {
	}
	e.mu.Lock()
	e.opened = append(e.opened, s)
	e.mu.Unlock()
	src := &source{engine: e, id: s.ID, spec: s.Spec}
	if s.State != nil {
		var err error
		if src.n, err = strconv.Atoi(string(s.State)); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// source is one session on the engine.
type source struct {
	engine *engine
	id     string
	spec   streaming.Spec
	n      int
	keys   string
	ids    []string
	pose   streaming.Pose
}

func (s *source) Control(_ context.Context, c streaming.Control) error {
	if c.Prompt != nil && *c.Prompt == "bad" {
		return fmt.Errorf("no such look: %w", streaming.ErrBadControl)
	}
	if c.Keys != nil {
		s.keys = *c.Keys
	}
	if c.Pose != nil {
		s.pose = *c.Pose
	}
	if len(c.Path) > 0 {
		s.pose = c.Path[len(c.Path)-1]
		s.engine.mu.Lock()
		s.engine.paths = append(s.engine.paths, c.Path)
		s.engine.mu.Unlock()
	}
	s.ids = append(s.ids, c.ID)
	return nil
}

func (s *source) Next(ctx context.Context) (streaming.Chunk, error) {
	if s.engine.making.Add(1) > 1 {
		s.engine.twoAtOnce.Store(true)
	}
	defer s.engine.making.Add(-1)
	if s.spec.Frames > 0 && s.n*framesPerChunk >= s.spec.Frames {
		return streaming.Chunk{}, io.EOF
	}
	if s.engine.fail != nil {
		if err := s.engine.fail(s.n); err != nil {
			return streaming.Chunk{}, err
		}
	}
	select {
	case <-time.After(s.engine.took):
	case <-ctx.Done():
		return streaming.Chunk{}, ctx.Err()
	}
	c := streaming.Chunk{Index: s.n, ControlIDs: s.ids, Keys: s.keys, Pose: s.pose, StagesNS: map[string]int64{"dit": s.engine.took.Nanoseconds()}}
	if s.engine.timing != nil {
		c.Timing = s.engine.timing(s.n)
	}
	for i := range framesPerChunk {
		f := media.NewFrame(s.spec.Width, s.spec.Height)
		f.Data[0] = byte(s.n*framesPerChunk + i)
		c.Frames = append(c.Frames, f)
	}
	s.n++
	s.ids = nil
	s.engine.mu.Lock()
	s.engine.makers = append(s.engine.makers, s.id)
	s.engine.mu.Unlock()
	if s.engine.keeps {
		c.State = []byte(strconv.Itoa(s.n))
	}
	return c, nil
}

func (s *source) Close() error {
	s.engine.live.Add(-1)
	return nil
}
