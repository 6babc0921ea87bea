package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/bench/viewer"
)

const (
	// startTimeout bounds the time from the request to the first frame, endTimeout each wait for what follows the last.
	startTimeout = 60 * time.Second
	endTimeout   = 20 * time.Second
	// slack is how much longer than its length a session may take.
	slack = 60 * time.Second
	// readEvery is the pause between two looks at the record.
	readEvery = 50 * time.Millisecond
	// lastKey is the id of the control that is held to the end.
	lastKey = "held"
)

// Run plays the workload on a server and answers what became of it. ffmpeg is the decoder's program. An error says that the session could not be played; that
// it was played badly is in the result.
func Run(ctx context.Context, t bench.Target, w Workload, ffmpeg string) (Result, error) {
	width, height, err := w.size()
	if err != nil {
		return Result{}, err
	}
	r := Result{Machine: bench.ReadMachine()}
	s := newServer(t)
	began := time.Now()
	ticket, err := s.create(ctx, w)
	if err != nil {
		return r, err
	}
	r.Session = ticket.SessionID
	defer func() { _ = s.end(context.WithoutCancel(ctx), ticket.SessionID) }() // a session that has ended stays as it is
	p := player{workload: w, moving: w.Frames}
	if p.viewer, err = viewer.Join(ctx, ticket.LivekitURL, ticket.Token, viewer.Options{Keep: true}); err != nil {
		return r, err
	}
	defer p.viewer.Close()
	if err := p.play(ctx); err != nil {
		return r, err
	}
	if err := s.settle(ctx, &r); err != nil {
		return r, err
	}
	r.RuntimeMS = milliseconds(time.Since(began))
	frames := r.own(p.viewer.Frames(), width, height)
	r.Declared, r.PacketsLost = p.declared, p.viewer.Stats().Lost
	if len(frames) > 0 {
		r.FirstFrameMS = milliseconds(frames[0].At.Sub(began))
	}
	r.watch(frames)
	pictures, err := decode(ctx, ffmpeg, frames, width, height)
	if err != nil {
		return r, err
	}
	r.look(pictures, p.moving)
	return r, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// settle waits for the end of the record and takes its numbers.
func (s server) settle(ctx context.Context, r *Result) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	for {
		record, err := s.read(ctx, r.Session)
		if err != nil {
			return err
		}
		if record.EndedAt != nil && record.Outcome != nil {
			r.Published, r.Dropped, r.Chunks = record.Facts.PublishedFrames, record.Facts.DroppedFrames, record.Facts.Chunks
			r.Outcome, r.Reason = *record.Outcome, *record.Reason
			return nil
		}
		select {
		case <-time.After(readEvery):
		case <-ctx.Done():
			return fmt.Errorf("replay: session %s does not end: it is %s: %w", r.Session, record.Status, context.Cause(ctx))
		}
	}
}

// player is the controller of one session.
type player struct {
	workload Workload
	viewer   *viewer.Viewer
	// declared is how many frames the server says that it sent; moving is the first frame of the chunks that are made with the last key.
	declared int64
	moving   int
}

// play flies the session to its last frame, and confirms what came.
func (p *player) play(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout+p.workload.length()+slack)
	defer cancel()
	flown := make(chan error, 1)
	flight, land := context.WithCancel(ctx)
	go func() { flown <- p.fly(flight) }()
	err := p.listen(ctx)
	land()
	if flyErr := <-flown; err == nil {
		err = flyErr
	}
	if err != nil {
		return err
	}
	// A viewer that lost frames for good confirms what it has: the server is to call that short.
	last, stop := context.WithTimeout(ctx, endTimeout)
	defer stop()
	_ = p.viewer.WaitFrames(last, int(p.declared)) // the number that follows says it
	return p.send(map[string]any{"type": "delivery_ack", "published_frames": p.viewer.Stats().Frames})
}

// fly presses the keys at their times. The end of its context is no error: the session was over.
func (p *player) fly(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.viewer.WaitFrames(waiting, 1); err != nil {
		if ctx.Err() != nil {
			return nil // who ended it says why
		}
		return err
	}
	first := time.Now()
	for i, k := range p.workload.Keys {
		select {
		case <-time.After(time.Until(first.Add(k.After))):
		case <-ctx.Done():
			return nil
		}
		message := map[string]any{"type": "control", "key": k.Key, "event": "press"}
		if k.Release {
			message["event"] = "release"
		}
		if i == len(p.workload.Keys)-1 {
			message["id"] = lastKey
		}
		if err := p.send(message); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) send(message map[string]any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if err := p.viewer.Send("tf.control", text); err != nil {
		return fmt.Errorf("replay: send %s: %w", message["type"], err)
	}
	return nil
}

// status is what the player reads of a message on tf.status.
type status struct {
	Type      string  `json:"type"`
	Index     *int    `json:"index"`
	Published int64   `json:"published_frames"`
	Error     *string `json:"error"`
	Data      struct {
		Stage     string `json:"stage"`
		ControlID string `json:"control_id"`
		Code      string `json:"code"`
		Message   string `json:"message"`
	} `json:"data"`
}

// listen hears the server until it says that all frames were sent.
func (p *player) listen(ctx context.Context) error {
	for {
		select {
		case m := <-p.viewer.Messages():
			var s status
			if m.Topic != "tf.status" {
				continue
			}
			if err := json.Unmarshal(m.Payload, &s); err != nil {
				return fmt.Errorf("replay: status %s: %w", m.Payload, bench.ErrTarget)
			}
			done, err := p.hear(s)
			if done || err != nil {
				return err
			}
		case <-p.viewer.Gone():
			return fmt.Errorf("replay: before done: %w", viewer.ErrGone)
		case <-ctx.Done():
			return fmt.Errorf("replay: no done: %w", context.Cause(ctx))
		}
	}
}

// hear takes one status in and says whether it is the last.
func (p *player) hear(s status) (done bool, err error) {
	switch {
	case s.Error != nil:
		return false, fmt.Errorf("replay: the server says %s: %w", *s.Error, bench.ErrTarget)
	case s.Data.Stage == "control_rejected":
		return false, fmt.Errorf("replay: a key was refused as %s: %s: %w", s.Data.Code, s.Data.Message, bench.ErrTarget)
	case s.Data.Stage == "control_applied" && s.Data.ControlID == lastKey && s.Index != nil:
		p.moving = firstChunkFrames + (*s.Index-1)*chunkFrames // the chunk before it is whole
		p.moving = max(p.moving, 0)
	case s.Type == "done":
		p.declared = s.Published
		return true, nil
	}
	return false, nil
}
