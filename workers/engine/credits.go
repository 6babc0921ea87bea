package engine

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"telefuser/workers/engine/enginepb"
)

// creditsMax bounds what a reader may grant ahead.
const creditsMax = 1024

// credits counts the chunks that a reader has room for.
type credits struct {
	mu   sync.Mutex
	left int
	// granted holds a token while there may be credits to take.
	granted chan struct{}
}

func newCredits(first int) *credits {
	c := &credits{granted: make(chan struct{}, 1)} // a signal: one token says "look again"
	c.add(first)
	return c
}

func (c *credits) add(count int) {
	c.mu.Lock()
	c.left = min(c.left+max(count, 0), creditsMax)
	c.mu.Unlock()
	select {
	case c.granted <- struct{}{}:
	default:
	}
}

// take waits for a credit and uses it.
func (c *credits) take(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.tryTake() {
			return nil
		}
		select {
		case <-c.granted:
		case <-ctx.Done():
		}
	}
}

func (c *credits) tryTake() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return false
	}
	c.left--
	return true
}

// receive adds what the reader grants, and takes places back that it is done with, until the stream is over.
func (c *credits) receive(stream grpc.BidiStreamingServer[enginepb.NextRequest, enginepb.NextResponse], places *framePlaces) {
	for {
		in, err := stream.Recv()
		if err != nil {
			return
		}
		places.free(in.GetReturned()) // first: the chunk that the credit is for may need them
		c.add(int(in.GetCredits()))
	}
}
