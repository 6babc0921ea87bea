package viewer

import (
	"context"
	"time"

	"github.com/pion/webrtc/v4"
)

// Sound is one packet of sound as it arrived.
type Sound struct {
	// Data is an Opus frame, Timestamp its time in samples of 48 kHz.
	Data      []byte
	Timestamp uint32
	// At is when it arrived.
	At time.Time
}

// listen takes packets of sound until the track ends.
func (v *Viewer) listen(t *webrtc.TrackRemote) {
	defer v.readers.Done()
	for {
		p, _, err := t.ReadRTP()
		if err != nil {
			return
		}
		if len(p.Payload) == 0 {
			continue
		}
		v.mu.Lock()
		v.stats.Sounds++
		if v.o.KeepSound {
			v.heard = append(v.heard, Sound{Data: p.Payload, Timestamp: p.Timestamp, At: time.Now()})
		}
		close(v.changed)
		v.changed = make(chan struct{})
		v.mu.Unlock()
	}
}

// Sounds answers the packets of sound that were kept.
func (v *Viewer) Sounds() []Sound {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Sound(nil), v.heard...)
}

// WaitSounds returns when n packets of sound have arrived in all.
func (v *Viewer) WaitSounds(ctx context.Context, n int) error {
	return v.wait(ctx, n, "packets of sound", func(s Stats) int { return s.Sounds })
}
