package viewer

import (
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
)

// reorderMax is how many packets wait for an older one before that counts as lost.
const reorderMax = 256

// assembler puts the packets of one VP8 track in order and together.
type assembler struct {
	waiting map[uint16]*rtp.Packet
	next    uint16
	begun   bool
	// frame is what is there of the current frame; broken says that some of it is lost, open that it has begun.
	frame        []byte
	open, broken bool
	lost         int
}

func newAssembler() *assembler { return &assembler{waiting: map[uint16]*rtp.Packet{}} }

// push takes a packet and answers the frames that it completes.
func (a *assembler) push(p *rtp.Packet) []Frame {
	if !a.begun {
		a.begun, a.next = true, p.SequenceNumber
	}
	// Behind the next one by less than half of the numbers: it came a second time, or too late.
	if p.SequenceNumber-a.next >= 1<<15 {
		return nil
	}
	a.waiting[p.SequenceNumber] = p
	if len(a.waiting) > reorderMax {
		a.skip()
	}
	var frames []Frame
	for {
		p, there := a.waiting[a.next]
		if !there {
			return frames
		}
		delete(a.waiting, a.next)
		a.next++
		if f, whole := a.take(p); whole {
			frames = append(frames, f)
		}
	}
}

// skip gives up what is missing before the oldest packet that waits.
func (a *assembler) skip() {
	for {
		if _, there := a.waiting[a.next]; there {
			return
		}
		a.next++
		a.lost++
		a.broken = true
	}
}

// take appends a packet to its frame.
func (a *assembler) take(p *rtp.Packet) (Frame, bool) {
	var vp8 codecs.VP8Packet
	payload, err := vp8.Unmarshal(p.Payload)
	if err != nil || len(payload) == 0 {
		return Frame{}, false
	}
	if vp8.S == 1 && vp8.PID == 0 {
		a.frame, a.open, a.broken = nil, true, false
	}
	a.frame = append(a.frame, payload...)
	if !p.Marker {
		return Frame{}, false
	}
	whole := a.open && !a.broken
	a.open = false
	return Frame{Data: a.frame, Timestamp: p.Timestamp, Key: whole && a.frame[0]&1 == 0}, whole
}
