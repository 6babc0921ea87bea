package gpu

import "fmt"

// PinnedRing is a few equal pinned buffers used in turn: while the copy engine reads
// one, the host fills the next.
type PinnedRing struct {
	slots []ringSlot
	next  int
}

type ringSlot struct {
	buf  *Pinned
	used *Event
	busy bool // a copy may still use the buffer; used tells when it ended
}

// NewPinnedRing takes count buffers of bytes each.
func (c *Context) NewPinnedRing(count, bytes int) (*PinnedRing, error) {
	if count < 1 {
		return nil, fmt.Errorf("gpu: pinned ring of %d: %w", count, ErrInvalid)
	}
	r := &PinnedRing{}
	for range count {
		b, err := c.AllocPinned(bytes)
		if err != nil {
			return nil, joinFirst(err, r.Free())
		}
		e, err := c.NewEvent()
		if err != nil {
			return nil, joinFirst(err, b.Free(), r.Free())
		}
		r.slots = append(r.slots, ringSlot{buf: b, used: e})
	}
	return r, nil
}

// Acquire returns the next buffer, once the copy that last used it has ended. done must
// be called with the stream on which the new copy was queued.
func (r *PinnedRing) Acquire() (buf []byte, done func(*Stream) error, err error) {
	s := &r.slots[r.next]
	r.next = (r.next + 1) % len(r.slots)
	if s.busy {
		if err := s.used.Synchronize(); err != nil {
			return nil, nil, err
		}
		s.busy = false
	}
	return s.buf.Bytes, func(st *Stream) error {
		s.busy = true
		return st.Record(s.used)
	}, nil
}

// Free waits for copies under way and gives the buffers back.
func (r *PinnedRing) Free() error {
	var first error
	for i := range r.slots {
		s := &r.slots[i]
		if s.busy {
			first = joinFirst(first, s.used.Synchronize())
		}
		first = joinFirst(first, s.used.Close(), s.buf.Free())
	}
	r.slots = nil
	return first
}
