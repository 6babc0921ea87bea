package livekit

import (
	"context"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"

	"telefuser/streaming"
)

// callbacks are the library's. None of them waits for anything but the one question to the server that keeps two epochs apart.
func (p *publisher) callbacks() *lksdk.RoomCallback {
	return &lksdk.RoomCallback{
		OnDisconnected:            p.onDisconnected,
		OnReconnecting:            p.onReconnecting,
		OnReconnected:             p.onReconnected,
		OnParticipantConnected:    func(*lksdk.RemoteParticipant) { p.look() },
		OnParticipantDisconnected: func(*lksdk.RemoteParticipant) { p.look() },
		ParticipantCallback:       lksdk.ParticipantCallback{OnDataPacket: p.onData},
	}
}

// onData hands on what the controller says on its topic. An empty identity is nobody's.
func (p *publisher) onData(packet lksdk.DataPacket, from lksdk.DataReceiveParams) {
	message, isUser := packet.(*lksdk.UserDataPacket)
	if !isUser || message.Topic != streaming.TopicControl {
		return
	}
	if from.SenderIdentity == "" || from.SenderIdentity != p.join.Controller {
		p.mailbox.drop()
		return
	}
	p.mailbox.control(from.SenderIdentity, message.Payload)
}

// begin runs beside the caller what Close waits for. It answers false when the room is given up.
func (p *publisher) begin(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isEnded() {
		return false
	}
	p.run(f)
	return true
}

// run is begin for those who hold p.mu and know that the room is not given up.
func (p *publisher) run(f func()) {
	p.calls.Add(1)
	go func() {
		defer p.calls.Done()
		f()
	}()
}

// lose gives the room up because the connection did not come back.
func (p *publisher) lose() {
	p.end(streaming.EventLost)
	p.leave()
}

// onReconnecting runs before the library connects again by itself. A publisher that slept must not put out the newer one that took its place meanwhile.
func (p *publisher) onReconnecting() {
	if p.line.down(p.server.cfg.ReconnectTimeout, p.lose) {
		p.mailbox.put(streaming.EventAway, "")
	}
	p.look()
	newest, err := p.server.publisherEpoch(context.Background(), p.join.Room, p.join.SessionID)
	if err == nil && newest > p.join.Epoch {
		p.end(streaming.EventReplaced)
		p.leave()
	}
}

func (p *publisher) onReconnected() {
	p.keys.want()
	if p.line.restored() {
		p.mailbox.put(streaming.EventReconnected, "")
	}
	p.look()
}

// onDisconnected is the library's last word.
func (p *publisher) onDisconnected() {
	switch p.room.DisconnectReason() {
	case livekit.DisconnectReason_ROOM_DELETED, livekit.DisconnectReason_ROOM_CLOSED, livekit.DisconnectReason_PARTICIPANT_REMOVED:
		p.end(streaming.EventRoomDeleted)
	case livekit.DisconnectReason_DUPLICATE_IDENTITY:
		us := p.room.LocalParticipant.SID() // the library forgets it with the room
		p.begin(func() { p.yieldTo(us) })
	default:
		p.end(streaming.EventLost)
	}
}

// yieldFor is how long the server may still show the one who was put out, or nobody, in the place of whoever came, yieldPause the pause between two looks.
const (
	yieldFor   = time.Second
	yieldPause = 50 * time.Millisecond
)

// yieldTo finds out who has our place; us is who we were in it. An older epoch that came back does not keep it, and neither does a connection of our own epoch that
// outlived its publisher: we join again and put it out. A stranger is left alone.
func (p *publisher) yieldTo(us string) {
	ctx, cancel := context.WithTimeout(context.Background(), yieldFor)
	defer cancel()
	pause := time.NewTicker(yieldPause)
	defer pause.Stop()
	for ctx.Err() == nil {
		who, err := p.server.publisher(ctx, p.join.Room, p.join.SessionID)
		if err != nil && ctx.Err() == nil {
			break
		}
		if who != nil && who.GetSid() != us {
			if epoch := epochOf(who); epoch > 0 && epoch <= p.join.Epoch {
				p.end(streaming.EventLost)
				return
			}
			break
		}
		select {
		case <-p.ended:
			return
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	p.end(streaming.EventReplaced)
}
