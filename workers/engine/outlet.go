package engine

import (
	"errors"
	"math"
	"sync"

	"google.golang.org/grpc"

	"telefuser/workers/engine/enginepb"
)

// progressStep is the smallest share of a request's work that is told.
const progressStep = 0.005

// errOutletClosed means that the call is over whose stream it was.
var errOutletClosed = errors.New("engine: nobody reads the session any more")

// outlet sends a session's messages one after the other, from whatever goroutine they come, until its call is over.
type outlet struct {
	mu     sync.Mutex
	stream grpc.ServerStream // nil when the call is over
	told   float64
}

func newOutlet(stream grpc.ServerStream) *outlet { return &outlet{stream: stream, told: math.Inf(-1)} }

// send sends one message.
func (o *outlet) send(m *enginepb.NextResponse) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stream == nil {
		return errOutletClosed
	}
	return o.stream.SendMsg(m)
}

// progress tells how much of the work is done, where it is worth a message. These are few and small, so it does not wait for a slow reader.
func (o *outlet) progress(share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stream == nil || !(share-o.told >= progressStep) {
		return
	}
	o.told = share
	// A send fails only when the stream is over, which ends the session as well.
	_ = o.stream.SendMsg(&enginepb.NextResponse{Part: &enginepb.NextResponse_Progress{Progress: &enginepb.Progress{Share: share}}})
}

// close waits for what is being sent; the stream must not be used when its call has returned.
func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream = nil
}
