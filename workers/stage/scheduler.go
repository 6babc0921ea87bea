package stage

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Scheduler moves the artifacts of many sessions through one graph. All decisions are made under one lock, at the moment that something
// has changed; stages run outside it.
type Scheduler struct {
	graph  *Graph
	cfg    Config
	actors []*actor

	mu       sync.Mutex
	started  bool
	admits   bool  // Run is working and takes new work
	death    error // the first actor's that died
	sessions map[string]*Session
	turns    []*Session // the open ones, in the order of opening
	stages   []stageLoad
	groups   []int // invocations in flight per resource group
	nextID   uint64
	results  *recent[Key, struct{}]
	epochs   *recent[string, int64] // of ended sessions
	poisoned map[string]struct{}
	diag     Diagnostics

	// died and gone have capacity 1: they wake Run, which looks for itself.
	died, gone chan struct{}
	// deadlines wakes the janitor; capacity 1 for the same reason.
	deadlines chan struct{}
}

// stageLoad is what all sessions together ask of one stage.
type stageLoad struct {
	inFlight int
	turn     int        // index into turns of the session that is asked first
	releases []*Session // waiting for a place in the mailbox
	ended    bool       // the actor takes nothing more
}

// New makes a scheduler. Its actors start with Run.
func New(g *Graph, cfg Config) (*Scheduler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		graph: g, cfg: cfg.withDefaults(), sessions: map[string]*Session{}, stages: make([]stageLoad, len(g.nodes)),
		groups: make([]int, len(g.groups)), results: newRecent[Key, struct{}](keysRemembered), epochs: newRecent[string, int64](keysRemembered),
		poisoned: map[string]struct{}{}, died: make(chan struct{}, 1), gone: make(chan struct{}, 1), deadlines: make(chan struct{}, 1),
	}
	for i := range g.nodes {
		s.actors = append(s.actors, newActor(i, &g.nodes[i].Stage))
	}
	return s, nil
}

// Run works until ctx ends or an actor dies. Then it stops every session, waits for their clean-up within the drain timeout, and ends the
// actors. It returns nil or an ErrActorDead when nothing that it started is left; a stage that ignores its context can delay that for ever.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	var actors, janitor sync.WaitGroup
	for _, a := range s.actors {
		actors.Go(func() { a.run(s) }) //nolint:contextcheck // releases run on after ctx, within the drain timeout
	}
	quit := make(chan struct{})
	janitor.Go(func() { s.sweep(quit) })
	select {
	case <-ctx.Done():
	case <-s.died:
	}
	s.stopAll()
	for !s.clean() {
		<-s.gone
	}
	s.closeMailboxes()
	actors.Wait()
	close(quit)
	janitor.Wait()
	return s.over()
}

// over checks that all capacity came back.
func (s *Scheduler) over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.stages {
		s.diag.SlotLeaks += int64(s.stages[i].inFlight)
	}
	for _, n := range s.groups {
		s.diag.SlotLeaks += int64(n)
	}
	return s.death
}

func (s *Scheduler) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return fmt.Errorf("%w: a scheduler runs once", ErrClosed)
	}
	s.started, s.admits = true, true
	s.pump(time.Now())
	return nil
}

// stopAll ends admission and stops every session.
func (s *Scheduler) stopAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admits = false
	cause := ErrClosed
	if s.death != nil {
		cause = s.death
	}
	for _, x := range s.all() {
		s.stop(x, cause, time.Now())
	}
}

// all copies the sessions, since stopping one may remove it.
func (s *Scheduler) all() []*Session {
	list := make([]*Session, 0, len(s.sessions))
	for _, x := range s.sessions {
		list = append(list, x)
	}
	return list
}

// clean says whether every session has ended or was given up.
func (s *Scheduler) clean() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if !x.poisoned {
			return false
		}
	}
	return true
}

func (s *Scheduler) closeMailboxes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.actors {
		if !s.stages[i].ended {
			s.stages[i].ended = true
			close(a.mailbox)
		}
	}
}

// Health is the state of each stage's actor by id.
func (s *Scheduler) Health() map[string]Health {
	h := make(map[string]Health, len(s.actors))
	for _, a := range s.actors {
		h[a.stage.ID] = a.Health()
	}
	return h
}

// Diagnostics are the counters since New.
func (s *Scheduler) Diagnostics() Diagnostics {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.diag
}

// wakeUp leaves a word for a goroutine that looks for itself; one word is enough.
func wakeUp(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
