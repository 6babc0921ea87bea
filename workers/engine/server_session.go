package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"telefuser/workers/engine/enginepb"
	"telefuser/workers/pipeline"
)

// session is one run inside the engine.
type session struct {
	// ctx is the session's life: Next works under it, CloseSession ends it.
	ctx    context.Context //nolint:containedctx // see above
	cancel context.CancelCauseFunc
	// phase is what is read of the devices meanwhile.
	phase *phase
	// drawn are the frames that are drawn in the shared memory.
	drawn *drawnFrames
	// working holds one token, which is out while a call is inside the pipeline's session, Control excepted.
	working chan struct{}

	// making is the call that makes a chunk; nil between two. out is where its progress goes; nil while nobody reads.
	making atomic.Pointer[call]
	out    atomic.Pointer[outlet]

	mu sync.Mutex
	// run is nil until Open has set it, when opening failed, and again when it is closed.
	run pipeline.Session
}

// errSessionClosed is why a session's work stops.
var errSessionClosed = errors.New("engine: session closed")

// enter waits until no other call is inside the session.
func (n *session) enter(ctx context.Context) error {
	select {
	case <-n.working:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *session) leave() { n.working <- struct{}{} }

// swap puts another run in and answers the one that was there.
func (n *session) swap(run pipeline.Session) pipeline.Session {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.run
	n.run = run
	return old
}

// live answers the run, or why there is none.
func (n *session) live() (pipeline.Session, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.run == nil {
		return nil, status.Error(codes.FailedPrecondition, "the session is not open")
	}
	return n.run, nil
}

// close waits for the work to stop and frees the session.
func (n *session) close(ctx context.Context) error {
	if err := n.enter(ctx); err != nil {
		return err
	}
	defer n.leave()
	if run := n.swap(nil); run != nil {
		if err := run.Close(); err != nil {
			return err
		}
	}
	n.drawn.close()
	return nil
}

// Open registers the session before the pipeline sees it, so that it can be closed while it is opening.
func (s *server) Open(ctx context.Context, in *enginepb.OpenRequest) (*enginepb.OpenResponse, error) {
	ctx, span := s.cfg.Tracer.Start(joinPlace(ctx, s.cfg.Tracer), "engine.open")
	defer span.End()
	req, err := requestFromWire(in.GetRequest())
	if err != nil {
		return nil, failUnary(ctx, err)
	}
	n, err := s.register(in.GetSessionId())
	if err != nil {
		return nil, failUnary(ctx, err)
	}
	if err := s.open(ctx, n, req); err != nil {
		_, _ = s.forget(in.GetSessionId()) // a session that never was has no facts
		n.leave()
		return nil, failUnary(ctx, s.judge(err))
	}
	n.leave()
	return &enginepb.OpenResponse{}, nil
}

// open runs with the session's token taken.
func (s *server) open(ctx context.Context, n *session, req pipeline.Request) error {
	stop := context.AfterFunc(ctx, func() { n.cancel(context.Cause(ctx)) })
	defer stop()
	s.model.Lock()
	defer s.model.Unlock()
	call := s.progress.begin()
	defer call.end()
	req.NewFrame = n.drawn.frame
	run, err := s.pipeline.Open(n.ctx, req) //nolint:contextcheck // the session's life, which ends with ctx until it is open
	if err != nil {
		return err
	}
	if slow, ok := run.(pipeline.Mover); ok {
		slow.OnMove(n.moved)
	}
	n.swap(run)
	return nil
}

// moved notes that the chunk under way has moved, and tells how much of all work is done.
func (n *session) moved(share float64) {
	if c := n.making.Load(); c != nil {
		c.touch()
	}
	if out := n.out.Load(); out != nil {
		out.progress(share)
	}
}

func (s *server) register(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		return nil, &Error{Class: ClassInternal, Message: "the pipeline is not loaded"}
	}
	if _, taken := s.sessions[id]; taken || id == "" {
		return nil, &Error{Class: ClassInvalid, Message: "session id is empty or taken"}
	}
	if len(s.sessions) >= max(1, s.pipeline.Contract().SessionsMax) {
		return nil, &Error{Class: ClassBusy}
	}
	ctx, cancel := context.WithCancelCause(s.base)
	n := &session{ctx: ctx, cancel: cancel, phase: s.phases.begin(), drawn: newDrawnFrames(s.places), working: make(chan struct{}, 1)} // one token: see working
	s.sessions[id] = n
	s.sessionsPeak = max(s.sessionsPeak, len(s.sessions))
	return n, nil
}

// forget ends a session's entry and phase, once, and tells what was read during it.
func (s *server) forget(id string) ([]byte, error) {
	s.mu.Lock()
	n, ok := s.sessions[id]
	delete(s.sessions, id)
	peak := s.sessionsPeak
	s.mu.Unlock()
	if !ok {
		return nil, nil
	}
	return n.phase.json(peak)
}

func (s *server) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.sessions[id]; ok {
		return n, nil
	}
	return nil, status.Error(codes.NotFound, "no such session")
}

// Control feeds the session; it does not wait for a chunk under way.
func (s *server) Control(ctx context.Context, in *enginepb.ControlRequest) (*enginepb.ControlResponse, error) {
	n, err := s.find(in.GetSessionId())
	if err != nil {
		return nil, err
	}
	run, err := n.live()
	if err != nil {
		return nil, err
	}
	if err := run.Control(ctx, controlFromWire(in)); err != nil {
		return nil, failUnary(ctx, s.judge(err))
	}
	return &enginepb.ControlResponse{}, nil
}

// CloseSession answers when the pipeline has let go of the session.
func (s *server) CloseSession(ctx context.Context, in *enginepb.CloseSessionRequest) (*enginepb.CloseSessionResponse, error) {
	n, err := s.find(in.GetSessionId())
	if err != nil {
		return &enginepb.CloseSessionResponse{}, nil //nolint:nilerr // what is not there is closed
	}
	n.cancel(errSessionClosed)
	if err := n.close(ctx); err != nil {
		return nil, failUnary(ctx, err)
	}
	phase, err := s.forget(in.GetSessionId())
	if err != nil {
		return nil, failUnary(ctx, err)
	}
	return &enginepb.CloseSessionResponse{PhaseJson: phase}, nil
}

// Next makes one chunk for each credit until the session's end.
func (s *server) Next(stream grpc.BidiStreamingServer[enginepb.NextRequest, enginepb.NextResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	n, err := s.find(first.GetSessionId())
	if err != nil {
		return err
	}
	stop := context.AfterFunc(stream.Context(), func() { n.cancel(context.Cause(stream.Context())) })
	defer stop()
	if err := n.enter(n.ctx); err != nil {
		return failStream(stream, err)
	}
	defer n.leave()
	run, err := n.live()
	if err != nil {
		return err
	}
	places := s.shared()
	places.free(first.GetReturned())
	out := newOutlet(stream)
	defer out.close()
	n.out.Store(out)
	defer n.out.Store(nil)
	credits := newCredits(int(first.GetCredits()))
	// gRPC ends the receiver when this handler returns.
	go credits.receive(stream, places)
	for {
		if err := credits.take(n.ctx); err != nil {
			return failStream(stream, err)
		}
		chunk, err := s.nextChunk(n, run)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return failStream(stream, s.judge(err))
		}
		if err := sendChunk(out, chunk, n.drawn); err != nil {
			return err
		}
	}
}

func (s *server) nextChunk(n *session, run pipeline.Session) (pipeline.Chunk, error) {
	call := s.progress.begin()
	defer call.end()
	n.making.Store(call)
	defer n.making.Store(nil)
	return run.Next(n.ctx)
}

// sendChunk sends the frames, or sees that they are in the shared memory where there is room for all of them, and then the facts.
func sendChunk(out *outlet, chunk pipeline.Chunk, drawn *drawnFrames) error {
	places, shares := drawn.put(chunk.Frames)
	send := chunk.Frames
	if shares {
		send = nil
	}
	for _, f := range send {
		if _, shared := drawn.places.find(f.Data); shared { // its place is free again before it is on its way
			own := f.Clone()
			f.Release()
			f = own
		}
		part := &enginepb.Frame{Width: int32(f.Width), Height: int32(f.Height), Data: f.Data}
		if err := out.send(&enginepb.NextResponse{Part: &enginepb.NextResponse_Frame{Frame: part}}); err != nil {
			return fmt.Errorf("engine: send frame: %w", err)
		}
	}
	facts, err := chunkToWire(chunk)
	if err != nil {
		return err
	}
	if shares {
		facts.Places, facts.Width, facts.Height = places, int32(chunk.Frames[0].Width), int32(chunk.Frames[0].Height)
	}
	end := &enginepb.NextResponse{Part: &enginepb.NextResponse_Chunk{Chunk: facts}}
	if err := out.send(end); err != nil {
		return fmt.Errorf("engine: send chunk: %w", err)
	}
	return nil
}
