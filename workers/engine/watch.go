package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"telefuser/workers/engine/enginepb"
)

// load waits for the process to answer and has it load its pipeline.
func (p *process) load(ctx context.Context) (Description, error) {
	late := &Error{Class: ClassStalled, Message: fmt.Sprintf("not loaded within %s", p.cfg.LoadTimeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.LoadTimeout, late)
	defer cancel()
	ctx, leave := p.join(ctx)
	defer leave()
	started := time.Now()
	var trailer metadata.MD
	answer, err := p.client.Describe(ctx, &enginepb.DescribeRequest{}, grpc.WaitForReady(true), grpc.Trailer(&trailer))
	if err != nil {
		return Description{}, p.explain(ctx, err, trailer)
	}
	d := Description{Runtime: answer.GetRuntime(), Device: answer.GetDevice()}
	if err := json.Unmarshal(answer.GetContractJson(), &d.Contract); err != nil {
		return d, &Error{Class: ClassInvalid, Message: "contract: " + err.Error()}
	}
	if raw := answer.GetDevicesJson(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &d.Devices); err != nil {
			return d, &Error{Class: ClassInvalid, Message: "devices: " + err.Error()}
		}
	}
	stream, err := p.client.Load(ctx, p.offer())
	if err != nil {
		return d, p.explain(ctx, err, nil)
	}
	for {
		step, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return d, p.explain(ctx, err, stream.Trailer())
		}
		p.log.Debug("engine is loading", "share", step.GetShare())
		if d.Loading, err = phaseFromWire(step.GetPhaseJson()); err != nil {
			return d, &Error{Class: ClassInvalid, Message: err.Error()}
		}
	}
	d.LoadNS = time.Since(started).Nanoseconds()
	return d, nil
}

// deathGrace is how much later than its broken calls the end of a process, or of a context, may be noticed.
const deathGrace = time.Second

// explain says why a call failed: its caller gave up, we are ending the process, the engine named a class, or the process died.
func (p *process) explain(ctx context.Context, err error, trailer metadata.MD) error {
	if code := status.Code(err); code == codes.Canceled || code == codes.DeadlineExceeded {
		// The engine's clock may have called the caller's time first.
		sleep(ctx, deathGrace)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if cause := p.blamed(); cause != nil {
		return cause
	}
	switch class := classFrom(trailer); class {
	case ClassOutOfMemory, ClassDeviceLost:
		fatal := &Error{Class: class, Message: p.quote(err)}
		p.doom(fatal)
		return fatal
	case "":
		return p.unnamed(ctx, err)
	default:
		return &Error{Class: class, Message: p.quote(err)}
	}
}

// quote gives the engine's own words to a message while it is loading. Later they may hold a prompt, and are kept to the debug log.
func (p *process) quote(err error) string {
	text := status.Convert(err).Message()
	if !p.serving.Load() {
		return text
	}
	p.log.Debug("engine error", "pipeline", p.cfg.Pipeline, "text", text)
	return ""
}

// unnamed explains an error that the engine did not name: mostly it died in the middle of an answer.
func (p *process) unnamed(ctx context.Context, err error) error {
	if status.Code(err) != codes.Unavailable && !p.goneWithin(deathGrace) {
		return &Error{Class: ClassInternal, Message: p.quote(err)}
	}
	// The connection broke, so the process is ending; watch and load end the one that is not.
	p.doom(nil)
	select {
	case <-p.gone:
		return p.death
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch answers when the process is gone or ctx has ended. It ends a process that stalls or falls silent.
func (p *process) watch(ctx context.Context) {
	ctx, leave := p.join(ctx)
	defer leave()
	beats := make(chan *enginepb.Heartbeat) // handed over: an old beat says nothing
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		p.listen(ctx, beats)
	}()
	defer func() { <-heard }()
	silence := time.NewTimer(p.cfg.HeartbeatTimeout)
	defer silence.Stop()
	armed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.doomed:
			p.seeOff(ctx)
			return
		case <-heard:
			p.doom(nil)
			p.seeOff(ctx)
			return
		case beat := <-beats:
			if since := time.Duration(beat.GetSinceProgressNs()); beat.GetBusy() && since > p.cfg.StallTimeout {
				p.kill(&Error{Class: ClassStalled, Message: fmt.Sprintf("no progress for %s", since.Round(time.Millisecond))})
				return
			}
		case <-silence.C:
			// A timer that is late itself means that this process slept, so the silence proves nothing.
			if time.Since(armed) < 2*p.cfg.HeartbeatTimeout {
				p.kill(&Error{Class: ClassStalled, Message: fmt.Sprintf("no heartbeat for %s", p.cfg.HeartbeatTimeout)})
				return
			}
		}
		armed = time.Now()
		silence.Reset(p.cfg.HeartbeatTimeout)
	}
}

// listen passes heartbeats on until the stream or ctx ends.
func (p *process) listen(ctx context.Context, beats chan<- *enginepb.Heartbeat) {
	stream, err := p.client.Health(ctx, &enginepb.HealthRequest{})
	if err != nil {
		return
	}
	for {
		beat, err := stream.Recv()
		if err != nil {
			return
		}
		select {
		case beats <- beat:
		case <-ctx.Done():
			return
		}
	}
}

// seeOff waits for a doomed process to end by itself, and ends it when it takes too long.
func (p *process) seeOff(ctx context.Context) {
	if ctx.Err() == nil && !p.goneWithin(flushGrace+p.cfg.KillGrace) {
		p.kill(&Error{Class: ClassCrashed, Message: "the connection broke"})
	}
}

// closeSession has the engine let go of a session, and ends the engine when it does not. It does so even when ctx has ended. It answers what
// was read of the devices meanwhile, or nil.
func (p *process) closeSession(ctx context.Context, id string) (*PhaseFacts, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.CloseGrace)
	defer cancel()
	ctx, leave := p.join(ctx)
	defer leave()
	answer, err := p.client.CloseSession(ctx, &enginepb.CloseSessionRequest{SessionId: id})
	if err == nil {
		facts, broken := phaseFromWire(answer.GetPhaseJson())
		if broken != nil {
			p.log.Warn("what the engine says of its devices cannot be read", "error", broken)
		}
		return facts, nil
	}
	switch status.Code(err) {
	case codes.Unavailable: // it is dying already; watch sees to that
		p.doom(nil)
		<-p.gone
	case codes.DeadlineExceeded, codes.Canceled:
		p.kill(&Error{Class: ClassStalled, Message: fmt.Sprintf("a closed session was not let go within %s", p.cfg.CloseGrace)})
	default:
		p.kill(&Error{Class: ClassInternal, Message: "a session did not close " + p.quote(err)})
	}
	return nil, p.death
}
