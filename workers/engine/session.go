package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"telefuser/workers/engine/enginepb"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// Session is one run on an engine. Next and Close are called by one goroutine; Control by any.
type Session struct {
	supervisor *Supervisor
	process    *process
	desc       Description
	id         string
	stream     grpc.BidiStreamingClient[enginepb.NextRequest, enginepb.NextResponse]
	// endStream ends the reader together with its stream.
	endStream context.CancelFunc
	lent      *lentFrames
	// chunks has room for every chunk that a credit was given for, so the reader never waits.
	chunks chan pipeline.Chunk
	// end is why there are no more chunks; read it when chunks is closed.
	end error
	// moves is where the engine's word of its progress goes.
	moves moves

	// taken is whether a chunk was taken, asked whether one on demand is still to come.
	taken   bool
	asked   bool
	closing sync.Once
	closed  error
	peak    *int64
	phase   *PhaseFacts
}

// Open starts a session on the engine, waiting for one to be loaded. Every opened session must be closed.
func (s *Supervisor) Open(ctx context.Context, req pipeline.Request) (*Session, error) {
	wire, err := requestToWire(req)
	if err != nil {
		return nil, err
	}
	p, desc, err := s.await(ctx)
	if err != nil {
		return nil, err
	}
	n := &Session{supervisor: s, process: p, desc: desc, id: s.nextID(), lent: p.lend(), chunks: make(chan pipeline.Chunk, s.cfg.Credits)}
	resetPeakMemory(p.cmd.Process.Pid)
	if err := n.begin(ctx, wire); err != nil {
		return nil, errors.Join(err, n.lent.close())
	}
	return n, nil
}

// begin opens the session on the engine and asks for its first chunks.
func (n *Session) begin(ctx context.Context, wire *enginepb.Request) error {
	if err := n.open(ctx, wire); err != nil {
		if ctx.Err() != nil {
			// The engine may be in the middle of opening: see that it lets go.
			_, closed := n.process.closeSession(ctx, n.id)
			return errors.Join(context.Cause(ctx), closed)
		}
		return err
	}
	if err := n.startReading(ctx); err != nil {
		_, closed := n.process.closeSession(ctx, n.id)
		return errors.Join(err, closed)
	}
	return nil
}

func (n *Session) open(ctx context.Context, req *enginepb.Request) error {
	var trailer metadata.MD
	_, err := n.process.client.Open(sendPlace(ctx), &enginepb.OpenRequest{SessionId: n.id, Request: req}, grpc.Trailer(&trailer))
	if err != nil {
		return n.process.explain(ctx, err, trailer)
	}
	return nil
}

// startReading asks for the first chunks. The stream's life is the session's, not that of the call that opened it.
func (n *Session) startReading(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stream, err := n.process.client.Next(ctx)
	if err != nil {
		cancel()
		return n.process.explain(ctx, err, nil)
	}
	n.stream, n.endStream = stream, cancel
	if !n.supervisor.cfg.OnDemand {
		n.grant(cap(n.chunks))
	}
	go n.read(ctx)
	return nil
}

// grant tells the engine that there is room for more chunks, and which frames of whatever session are done with. An error shows where the chunks are read.
func (n *Session) grant(count int) {
	_ = n.stream.Send(&enginepb.NextRequest{SessionId: n.id, Credits: int32(count), Returned: n.lent.memory.takeReturned()})
}

// read puts frames together to chunks until the stream ends.
func (n *Session) read(ctx context.Context) {
	defer close(n.chunks)
	var frames []media.Frame
	for {
		in, err := n.stream.Recv()
		if errors.Is(err, io.EOF) {
			n.end = io.EOF
			return
		}
		if err != nil {
			n.end = n.process.explain(ctx, err, n.stream.Trailer())
			return
		}
		if p := in.GetProgress(); p != nil {
			n.moves.note(p.GetShare())
			continue
		}
		if part := in.GetFrame(); part != nil {
			frame, err := frameFromWire(part)
			if err != nil {
				n.end = n.broken(err)
				return
			}
			frames = append(frames, frame)
			continue
		}
		lent, err := n.lent.lend(in.GetChunk())
		if err != nil {
			n.end = n.broken(err)
			return
		}
		chunk, err := chunkFromWire(in.GetChunk(), append(frames, lent...))
		if err != nil || len(n.chunks) == cap(n.chunks) {
			n.end = n.broken(errors.Join(err, errors.New("a chunk that does not fit")))
			return
		}
		n.chunks <- chunk
		frames = nil
	}
}

// broken is an engine that does not keep to the protocol.
func (n *Session) broken(err error) error {
	return &Error{Class: ClassInternal, Message: fmt.Sprintf("protocol: %v", err)}
}

// Next takes the next chunk, and io.EOF after the last. When ctx ends it answers ctx's cause at once. The caller releases each frame when it is done with it: there is
// room for so many, and then they are sent over the socket.
func (n *Session) Next(ctx context.Context) (pipeline.Chunk, error) {
	if ctx.Err() != nil {
		return pipeline.Chunk{}, context.Cause(ctx)
	}
	onDemand := n.supervisor.cfg.OnDemand
	if onDemand && !n.asked {
		n.grant(1)
		n.asked = true
	}
	select {
	case chunk, ok := <-n.chunks:
		if ok {
			n.taken, n.asked = true, false
			if !onDemand {
				n.grant(1)
			}
			return chunk, nil
		}
		return pipeline.Chunk{}, n.end
	case <-ctx.Done():
		return pipeline.Chunk{}, context.Cause(ctx)
	}
}

// OnMove has moved called with the share 0..1 of the request's work that is done, from another goroutine, whenever the engine tells of one that is larger; at once where it
// has told of one. An engine need not. moved must not wait.
func (n *Session) OnMove(moved func(share float64)) { n.moves.listen(moved) }

// Control feeds a live session.
func (n *Session) Control(ctx context.Context, c pipeline.Control) error {
	var trailer metadata.MD
	_, err := n.process.client.Control(ctx, controlToWire(n.id, c), grpc.Trailer(&trailer))
	if err != nil {
		return n.process.explain(ctx, err, trailer)
	}
	return nil
}

// Close ends the session and answers when the device is free of it: the pipeline let go within CloseGrace, or its process is gone. The
// error tells of a process that had to be killed; there is nothing left to do about it. Further calls answer the same. Frames of the session must not be used any
// more: their memory may be gone.
func (n *Session) Close() error {
	n.closing.Do(func() {
		if !n.process.isGone() {
			n.peak = peakMemoryBytes(n.process.cmd.Process.Pid)
		}
		n.phase, n.closed = n.process.closeSession(context.Background(), n.id)
		n.supervisor.tellPhase(n.desc, n.phase)
		if n.closed == nil && n.taken {
			n.supervisor.noteWork(n.process)
		}
		n.endStream()
		for range n.chunks { // until the reader has ended
		}
		if err := n.lent.close(); err != nil {
			n.supervisor.cfg.Log.Warn("frames were not let go of", "error", err)
		}
	})
	return n.closed
}

// PeakMemoryBytes is the most host memory that the engine has held while the session was open, known after Close; nil when unknown.
func (n *Session) PeakMemoryBytes() *int64 { return n.peak }

// Phase is what was read of the engine's devices while the session was open, known after Close; nil where there is none or the engine had to
// be killed.
func (n *Session) Phase() *PhaseFacts { return n.phase }
