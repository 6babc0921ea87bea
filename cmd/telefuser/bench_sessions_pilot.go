package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"telefuser/internal/bench/viewer"
	"telefuser/openapi"
)

// The topics that a pilot hears and speaks on, and how often it says what it holds, as the console does.
const (
	pilotStatus  = "tf.status"
	pilotMetrics = "tf.metrics"
	pilotControl = "tf.control"
	pilotEvery   = time.Second
)

// pilot is one session with its controller, who watches it.
type pilot struct {
	stack  *liveStack
	ticket openapi.SessionTicket
	viewer *viewer.Viewer
	trace  viewer.Trace
	heard  sync.WaitGroup

	mu sync.Mutex
	// applied are the chunks that controls took effect in, by their ids; replaced are the controls that another one replaced.
	applied  map[string]int
	replaced map[string]bool
	// begun are when chunks were begun to be shown.
	begun map[int]time.Time
	// frames counts those of chunks that were made, stages are what they took.
	frames int
	stages map[string]time.Duration
}

// pilotFact is what a pilot reads of a fact; every kind has some of it.
type pilotFact struct {
	Type       string `json:"type"`
	Name       string `json:"name"`
	DurationNS int64  `json:"duration_ns"`
	Frames     int    `json:"frames"`
}

// pilotMessage is what a pilot reads of a status; every stage has some of it.
type pilotMessage struct {
	Index *int `json:"index"`
	Data  struct {
		Stage      string `json:"stage"`
		ControlID  string `json:"control_id"`
		Superseded bool   `json:"superseded"`
		Transport  struct {
			Started float64 `json:"publish_started_at"`
		} `json:"transport_measurement"`
	} `json:"data"`
}

// fly creates session i and joins it as its controller. land ends it.
func (b *benchSessions) fly(ctx context.Context, s *liveStack, i int) (*pilot, error) {
	ticket, err := b.create(ctx, s, i)
	if err != nil {
		return nil, err
	}
	p := &pilot{stack: s, ticket: ticket, applied: map[string]int{}, replaced: map[string]bool{}, begun: map[int]time.Time{}, stages: map[string]time.Duration{}}
	if p.viewer, err = viewer.Join(ctx, ticket.LivekitURL, ticket.Token, viewer.Options{OnFrame: p.trace.OnFrame}); err != nil {
		s.end(ctx, ticket.SessionID)
		return nil, err
	}
	p.heard.Go(p.hear)
	first, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	if err := p.viewer.WaitFrames(first, 1); err != nil {
		p.land(ctx)
		return nil, err
	}
	return p, nil
}

// land ends the session.
func (p *pilot) land(ctx context.Context) {
	p.stack.end(ctx, p.ticket.SessionID)
	p.viewer.Close()
	p.heard.Wait()
}

// hear notes what the worker says until the room is over.
func (p *pilot) hear() {
	for {
		select {
		case m := <-p.viewer.Messages():
			p.note(m)
		case <-p.viewer.Gone():
			return
		}
	}
}

func (p *pilot) note(in viewer.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.Topic == pilotMetrics {
		p.noteFacts(in.Payload)
		return
	}
	var m pilotMessage
	if json.Unmarshal(in.Payload, &m) != nil {
		return
	}
	switch {
	case in.Topic != pilotStatus:
	case m.Data.Stage == "control_applied" && m.Data.Superseded:
		p.replaced[m.Data.ControlID] = true
	case m.Data.Stage == "control_applied" && m.Index != nil:
		p.applied[m.Data.ControlID] = *m.Index
	case m.Data.Stage == "chunk_sent" && m.Index != nil:
		p.begun[*m.Index] = time.UnixMicro(int64(m.Data.Transport.Started * 1e6))
	}
}

func (p *pilot) noteFacts(payload []byte) {
	var facts []pilotFact
	if json.Unmarshal(payload, &facts) != nil {
		return
	}
	for _, f := range facts {
		switch f.Type {
		case "phase":
			p.stages[f.Name] += time.Duration(f.DurationNS)
		case "chunk":
			p.frames += f.Frames
		}
	}
}

// hold says which keys are held; a control with an id is answered.
func (p *pilot) hold(id string, keys ...string) error {
	message := map[string]any{"type": "control_state", "controls": keys}
	if id != "" {
		message["id"] = id
	}
	payload, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("pilot: %w", err)
	}
	return p.viewer.Send(pilotControl, payload)
}

// wander flies about until ctx ends: forward, turning to one side and the other.
func (p *pilot) wander(ctx context.Context, i int) {
	turns := [][]string{{"w"}, {"w", "l"}, {"w"}, {"w", "j"}, {"w", "d"}}
	for n := i; ; n++ {
		// One that is not sent is made up for by the next.
		_ = p.hold("", turns[n/3%len(turns)]...)
		if pause(ctx, pilotEvery) != nil {
			return
		}
	}
}
