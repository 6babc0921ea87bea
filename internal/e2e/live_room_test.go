package e2e_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"

	"telefuser/internal/bench/viewer"
)

// roomLostBar is the longest that a session may outlive its room.
const roomLostBar = 2 * time.Second

// TestLiveARoomThatIsTakenAway takes a session's room, or its place in it, from its worker: the session ends at once and for that reason, its slot is free, and
// nobody tries to get back in.
func TestLiveARoomThatIsTakenAway(t *testing.T) {
	f := startFleet(t, 1)
	for name, c := range map[string]struct {
		reason, status string
		// take answers when it was done.
		take func(t *testing.T, s *flown) time.Time
	}{
		"room deleted": {"room_deleted", "closed", func(t *testing.T, s *flown) time.Time {
			began := time.Now()
			if _, err := f.rooms().DeleteRoom(t.Context(), &livekit.DeleteRoomRequest{Room: s.room()}); err != nil {
				t.Fatal(err)
			}
			return began
		}},
		"worker put out": {"room_deleted", "closed", func(t *testing.T, s *flown) time.Time {
			began := time.Now()
			if _, err := f.rooms().RemoveParticipant(t.Context(), &livekit.RoomParticipantIdentity{Room: s.room(), Identity: s.publisher()}); err != nil {
				t.Fatal(err)
			}
			return began
		}},
		"identity taken": {"replaced", "failed", impersonate},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			s := f.fly(0, nil)
			finished := func() float64 {
				return metric(t, s.client, "telefuser_serving_sessions_finished_total", `"`+c.reason+`"`)
			}
			counted, logged := finished(), len(f.servers[0].stderr.String())
			began := c.take(t, s)
			s.awaitEnd(c.status, c.reason)
			since(t, began, roomLostBar, "it had ended")
			s.awaitIdle()
			since(t, began, roomLostBar+3*time.Second, "the slot was free") // a busy machine takes its time over an engine's answer
			if n := finished() - counted; n != 1 {
				t.Errorf("%v ends are counted", n)
			}
			waitFor(t, readyTimeout, "the room to be gone", func() bool { return len(f.roomNames()) == 0 })
			pause(t, time.Second)
			if names := f.roomNames(); len(names) != 0 {
				t.Errorf("somebody made a room again: %v", names)
			}
			if log := f.servers[0].stderr.String()[logged:]; strings.Contains(log, "room not entered") {
				t.Errorf("the worker tried to get back in:\n%s", log)
			}
			if status, answer := s.client.do(t, "POST", s.path()+"/tokens", fields{"identity": "pilot", "role": "controller"}); status != 409 {
				t.Errorf("a token for it: %d %v", status, answer)
			}
		})
	}
}

// room is the session's.
func (s *flown) room() string { return s.ticket["room"].(string) }

// publisher is the identity of the session's worker in the room.
func (s *flown) publisher() string { return "telefuser-" + s.id }

// impersonate joins the room under the worker's identity, and answers when the media server had put the worker out for it.
func impersonate(t *testing.T, s *flown) time.Time {
	t.Helper()
	token, err := auth.NewAccessToken(s.media.APIKey, s.media.APISecret).SetVideoGrant(&auth.VideoGrant{RoomJoin: true, Room: s.room()}).
		SetIdentity(s.publisher()).SetValidFor(time.Minute).ToJWT()
	if err != nil {
		t.Fatal(err)
	}
	var hand sync.WaitGroup
	hand.Go(func() { // the room is gone before its library has set everything up
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		defer cancel()
		if stranger, err := viewer.Join(ctx, s.media.URL, token, viewer.Options{}); err == nil {
			stranger.Close()
		}
	})
	t.Cleanup(hand.Wait)
	waitFor(t, readyTimeout, "the stranger to be there", func() bool {
		info, err := s.rooms().GetParticipant(t.Context(), &livekit.RoomParticipantIdentity{Room: s.room(), Identity: s.publisher()})
		return err != nil || info.GetMetadata() == ""
	})
	return time.Now()
}
