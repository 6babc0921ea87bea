package livekit

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/livekit/protocol/livekit"

	"telefuser/streaming"
)

const (
	// lookEvery is the longest pause between two looks at who is in the room, lookPause the shortest.
	lookEvery = 5 * time.Second
	lookPause = 50 * time.Millisecond
	// askSlack is how long before we saw a viewer its wish for a picture may have come: the wish is what makes us look.
	askSlack = time.Second
)

// look asks for a look at who is in the room. The media server tells a publisher of new viewers only every few seconds; that somebody wants a picture is
// known at once, so that is a reason to ask it who is there.
func (p *publisher) look() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// watchRoom looks around until ctx ends.
func (p *publisher) watchRoom(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-ticker.C:
		}
		err := p.lookAround(ctx)
		if errors.Is(err, ErrRoomNotFound) && p.line.isAway() {
			// The server was started anew and has forgotten the room: what the library waits for will not come.
			p.lose()
			return
		}
		if err != nil && ctx.Err() == nil {
			// The connection has its own eyes: while the server is away this says nothing new.
			p.server.cfg.Log.DebugContext(ctx, "nobody says who is in the room", "room", p.join.Room, "error", err)
		}
		pause := time.NewTimer(lookPause)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
		if p.line.isAway() {
			p.look()
		}
	}
}

// lookAround tells the reader who came and who went.
func (p *publisher) lookAround(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.server.cfg.CallTimeout)
	defer cancel()
	list, err := p.server.rooms.ListParticipants(ctx, &livekit.ListParticipantsRequest{Room: p.join.Room})
	if err != nil {
		return translate("list participants", err)
	}
	if len(list.GetParticipants()) == 0 {
		// Not even we are there. A room that is not there is nobody's, but the server does not say so by itself.
		if err := p.server.exists(ctx, p.join.Room); err != nil {
			return err
		}
	}
	now := map[string]bool{}
	for _, i := range list.GetParticipants() {
		if i.GetState() == livekit.ParticipantInfo_ACTIVE && !strings.HasPrefix(i.GetIdentity(), publisherPrefix) {
			now[i.GetIdentity()] = true
		}
	}
	if !p.compare(now) {
		p.lose()
	}
	return nil
}

// compare notes who is there now. It answers false when nobody reads what it says.
func (p *publisher) compare(now map[string]bool) (reads bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	reads = true
	for id := range p.clients {
		if !now[id] {
			delete(p.clients, id)
			reads = p.mailbox.put(streaming.EventLeft, id) && reads
		}
	}
	for id := range now {
		if _, known := p.clients[id]; !known {
			p.clients[id] = time.Now()
			reads = p.mailbox.put(streaming.EventJoined, id) && reads
			p.keys.want()
		}
	}
	return reads
}

// receives says whether a client is in the room and has asked for a picture since it came.
func (p *publisher) receives(identity string) bool {
	asked := p.track.asked.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	since, here := p.clients[identity]
	return here && asked != nil && asked.After(since.Add(-askSlack))
}
