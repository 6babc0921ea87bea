package streaming

import (
	"context"
	"sync"
	"time"
)

// chunksMax is the capacity of the queue between a source and its publisher: one chunk that is played next, and one that is made meanwhile.
const chunksMax = 2

// item is a chunk on its way to the publisher.
type item struct {
	Chunk
	// made is how long the source took, asked when it was asked, ready when it was there.
	made         time.Duration
	asked, ready time.Time
	// actions are the arrivals of the controls that took effect in it.
	actions []time.Time
}

// chunkQueue is a bounded queue with one writer and one reader.
type chunkQueue struct {
	mu     sync.Mutex
	items  []*item
	closed bool
	high   int
	// room and full hold one nudge each.
	room, full chan struct{}
}

func newChunkQueue() *chunkQueue {
	return &chunkQueue{room: make(chan struct{}, 1), full: make(chan struct{}, 1)}
}

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// hasRoom says whether a put would neither wait nor drop.
func (q *chunkQueue) hasRoom() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) < chunksMax
}

// awaitRoom waits until a put would neither wait nor drop.
func (q *chunkQueue) awaitRoom(ctx context.Context) error {
	for !q.hasRoom() {
		select {
		case <-q.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// put adds a chunk. A full queue gives its oldest up, which is answered: the newest wins. A writer that loses nothing awaits room first.
func (q *chunkQueue) put(it *item) (evicted *item) {
	q.mu.Lock()
	if len(q.items) == chunksMax {
		evicted = q.items[0]
		q.items = append(q.items[:0], q.items[1:]...)
	}
	q.items = append(q.items, it)
	q.high = max(q.high, len(q.items))
	q.mu.Unlock()
	nudge(q.full)
	return evicted
}

// close says that no more chunks come.
func (q *chunkQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	nudge(q.full)
}

// take waits for the oldest chunk; nil when the queue is closed and empty.
func (q *chunkQueue) take(ctx context.Context) (*item, error) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			it := q.items[0]
			q.items = append(q.items[:0], q.items[1:]...)
			q.mu.Unlock()
			nudge(q.room)
			return it, nil
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil, nil
		}
		select {
		case <-q.full:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// highWatermark is the most chunks that waited at a time.
func (q *chunkQueue) highWatermark() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.high
}
