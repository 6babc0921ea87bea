package livekit_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/livekit/protocol/auth"
	lkproto "github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/logger"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"

	"telefuser/internal/bench/viewer"
	"telefuser/streaming"
	"telefuser/streaming/livekit"
)

// holder is somebody with one of our tokens who tries more than it allows.
type holder struct {
	*viewer.Viewer
	stack *stack
	token string
}

// service calls the media server's API with the client's token.
func (h holder) service() lkproto.RoomService {
	header := http.Header{"Authorization": {"Bearer " + h.token}}
	return lkproto.NewRoomServiceProtobufClient(strings.Replace(h.stack.process.URL, "ws", "http", 1), &http.Client{Transport: bearer(header)})
}

// bearer adds headers to every request.
type bearer http.Header

// RoundTrip sends the request with them.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range b {
		r.Header[k] = v
	}
	return http.DefaultTransport.RoundTrip(r)
}

// canJoin asks the media server whether a token lets anybody in.
func (s *stack) canJoin(tb testing.TB, token, query string) bool {
	tb.Helper()
	res, err := http.Get(strings.Replace(s.process.URL, "ws", "http", 1) + "/rtc/validate?" + url.Values{"access_token": {token}}.Encode() + query)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func TestTokensForbidEverythingElse(t *testing.T) {
	s := start(t)
	room, otherRoom := s.room(t), s.room(t)
	p := s.publish(t, joinOf(room, 1))
	h := holder{stack: s, token: s.token(t, room, "viewer", streaming.RoleViewer)}
	v, err := viewer.Join(t.Context(), s.process.URL, h.token, viewer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	h.Viewer = v
	controller := s.watch(t, room, "controller", streaming.RoleController, viewer.Options{})
	next(t, p, streaming.EventJoined)
	next(t, p, streaming.EventJoined)
	if !s.canJoin(t, h.token, "") {
		t.Fatal("a good token is refused: nothing below means anything")
	}
	for name, try := range forbidden(room, otherRoom) {
		t.Run(name, func(t *testing.T) {
			if err := try(h); err == nil {
				t.Error("the media server let it happen")
			}
		})
	}
	t.Run("publish data as viewer", func(t *testing.T) { s.viewerIsMute(t, h, controller, p) })
	t.Run("rename as viewer", func(t *testing.T) { viewerKeepsItsName(t, h) })
}

// forbidden are attempts whose refusal is told to whoever tries.
func forbidden(room, otherRoom string) map[string]func(holder) error {
	api := func(call func(context.Context, lkproto.RoomService) error) func(holder) error {
		return func(h holder) error { return call(context.Background(), h.service()) }
	}
	return map[string]func(holder) error{
		"publish a track": func(h holder) error {
			track, err := lksdk.NewLocalTrack(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000})
			if err != nil {
				return nil //nolint:nilerr // then nothing was tried
			}
			_, err = h.Room().LocalParticipant.PublishTrack(track, &lksdk.TrackPublicationOptions{Name: "evil"})
			return err
		},
		"list rooms": api(func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.ListRooms(ctx, &lkproto.ListRoomsRequest{})
			return err
		}),
		"create a room": api(func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.CreateRoom(ctx, &lkproto.CreateRoomRequest{Name: "evil"})
			return err
		}),
		"delete the room": api(func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.DeleteRoom(ctx, &lkproto.DeleteRoomRequest{Room: room})
			return err
		}),
		"list participants": api(func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.ListParticipants(ctx, &lkproto.ListParticipantsRequest{Room: room})
			return err
		}),
		"remove the controller": api(func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.RemoveParticipant(ctx, &lkproto.RoomParticipantIdentity{Room: room, Identity: "controller"})
			return err
		}),
		"grant itself more": api(func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.UpdateParticipant(ctx, &lkproto.UpdateParticipantRequest{Room: room, Identity: "viewer",
				Permission: &lkproto.ParticipantPermission{CanPublish: true, CanPublishData: true, CanSubscribe: true}})
			return err
		}),
		"send data by the API": api(func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.SendData(ctx, &lkproto.SendDataRequest{Room: room, Data: []byte("evil")})
			return err
		}),
		"change the token's room": func(h holder) error {
			part := strings.Split(h.token, ".")
			claims, err := base64.RawURLEncoding.DecodeString(part[1])
			if err != nil {
				return nil //nolint:nilerr // then nothing was tried
			}
			part[1] = base64.RawURLEncoding.EncodeToString(bytes.ReplaceAll(claims, []byte(room), []byte(otherRoom)))
			return holder{stack: h.stack, token: strings.Join(part, ".")}.enter(nil)
		},
		"join with attributes of its own": func(h holder) error {
			return h.enter(lksdk.WithExtraAttributes(map[string]string{"role": "controller"}))
		},
	}
}

// enter tries to join again, with more.
func (h holder) enter(o lksdk.ConnectOption) error {
	room := lksdk.NewRoom(&lksdk.RoomCallback{})
	options := []lksdk.ConnectOption{lksdk.WithLogger(logger.GetDiscardLogger())}
	if o != nil {
		options = append(options, o)
	}
	err := room.JoinWithContextAndToken(context.Background(), h.stack.process.URL, h.token, options...)
	room.Disconnect()
	return err
}

// viewerIsMute sends as a viewer, then as the controller: only the second is heard, by anybody.
func (s *stack) viewerIsMute(t *testing.T, h holder, controller *viewer.Viewer, p streaming.Publisher) {
	t.Helper()
	_ = h.Send(streaming.TopicControl, []byte("evil"))
	if err := controller.Send(streaming.TopicControl, []byte("good")); err != nil {
		t.Fatal(err)
	}
	if e := next(t, p, streaming.EventControl); string(e.Payload) != "good" || e.Dropped != 0 {
		t.Errorf("%q with %d dropped: the viewer's message arrived", e.Payload, e.Dropped)
	}
	if err := p.Send(t.Context(), streaming.TopicStatus, []byte("end"), true); err != nil {
		t.Fatal(err)
	}
	for m := range controller.Messages() {
		if string(m.Payload) == "evil" {
			t.Error("the viewer's message reached another client")
		}
		if string(m.Payload) == "end" {
			return
		}
	}
}

// viewerKeepsItsName tries to change what others see of it.
func viewerKeepsItsName(t *testing.T, h holder) {
	t.Helper()
	h.Room().LocalParticipant.SetName("boss")
	h.Room().LocalParticipant.SetMetadata("boss")
	client := lksdk.NewRoomServiceClient(h.stack.process.URL, h.stack.process.APIKey, h.stack.process.APISecret)
	// Nothing answers an attempt that is ignored, so its effect is looked for during a time in which it would have come.
	ctx := within(t, time.Second)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		info, err := client.GetParticipant(t.Context(), &lkproto.RoomParticipantIdentity{Room: h.Room().Name(), Identity: "viewer"})
		if err != nil {
			t.Fatal(err)
		}
		if info.GetName() != "viewer" || info.GetMetadata() != "" {
			t.Fatalf("it is called %q now, %q", info.GetName(), info.GetMetadata())
		}
		<-ticker.C
	}
}

func TestTokensThatNoLongerCount(t *testing.T) {
	s := start(t)
	room := s.room(t)
	good := s.token(t, room, "viewer", streaming.RoleViewer)
	if !s.canJoin(t, good, "") {
		t.Fatal("a good token is refused: nothing below means anything")
	}
	if s.canJoin(t, good[:len(good)-4]+"AAAA", "") {
		t.Error("a changed signature is accepted")
	}
	other, err := livekit.New(livekit.Config{URL: s.process.URL, APIKey: s.process.APIKey, APISecret: strings.Repeat("x", 40)})
	if err != nil {
		t.Fatal(err)
	}
	forged, err := other.Token(room, "viewer", streaming.RoleViewer, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if s.canJoin(t, forged, "") {
		t.Error("a token of another secret is accepted")
	}
	if err := other.Check(t.Context()); !errors.Is(err, livekit.ErrDenied) {
		t.Errorf("Check with another secret: %v", err)
	}
	if !s.canJoin(t, s.expiring(room, time.Now().Add(time.Minute)), "") {
		t.Error("a token that is made by hand is refused: its age is not why the next one is")
	}
	// An hour is more than any difference of clocks that is allowed for.
	if s.canJoin(t, s.expiring(room, time.Now().Add(-time.Hour)), "") {
		t.Error("a stale token is accepted")
	}
	if err := s.Delete(t.Context(), room); err != nil {
		t.Fatal(err)
	}
	if s.canJoin(t, good, "") {
		t.Error("a token opens a deleted room")
	}
	if _, err := viewer.Join(t.Context(), s.process.URL, good, viewer.Options{}); err == nil {
		t.Error("a token enters a deleted room")
	}
}

// expiring signs a token by hand, because the library makes none that is stale.
func (s *stack) expiring(room string, at time.Time) string {
	part := func(v any) string {
		text, _ := json.Marshal(v) //nolint:errchkjson // maps of plain values
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(map[string]any{"alg": "HS256", "typ": "JWT"}) + "." + part(map[string]any{
		"iss": s.process.APIKey, "sub": "viewer", "nbf": at.Add(-time.Hour).Unix(), "exp": at.Unix(), "video": map[string]any{"roomJoin": true, "room": room},
	})
	mac := hmac.New(sha256.New, []byte(s.process.APISecret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func TestTokensSayEveryRight(t *testing.T) {
	s, err := livekit.New(livekit.Config{URL: "ws://127.0.0.1:1", APIKey: "key", APISecret: strings.Repeat("s", 32)})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []streaming.Role{streaming.RoleViewer, streaming.RoleController} {
		token, err := s.Token("room", "me", role, 2*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		v, err := auth.ParseAPIToken(token)
		if err != nil {
			t.Fatal(err)
		}
		_, claims, err := v.Verify(strings.Repeat("s", 32))
		if err != nil {
			t.Fatal(err)
		}
		yes, no := true, false
		data := &no
		if role == streaming.RoleController {
			data = &yes
		}
		want := auth.VideoGrant{RoomJoin: true, Room: "room", CanPublish: &no, CanPublishData: data, CanSubscribe: &yes, CanUpdateOwnMetadata: &no}
		if got := claims.Video; claims.Identity != "me" || !same(*got, want) {
			t.Errorf("%s: %+v", role, got)
		}
	}
	for name, try := range map[string]func() (string, error){
		"no room":         func() (string, error) { return s.Token("", "me", streaming.RoleViewer, time.Minute) },
		"no identity":     func() (string, error) { return s.Token("room", "", streaming.RoleViewer, time.Minute) },
		"our identity":    func() (string, error) { return s.Token("room", "telefuser-s1", streaming.RoleController, time.Minute) },
		"no role":         func() (string, error) { return s.Token("room", "me", "admin", time.Minute) },
		"for ever":        func() (string, error) { return s.Token("room", "me", streaming.RoleViewer, 1000*time.Hour) },
		"negative length": func() (string, error) { return s.Token("room", "me", streaming.RoleViewer, -time.Minute) },
	} {
		if _, err := try(); !errors.Is(err, livekit.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// same compares two grants by what a token would say.
func same(a, b auth.VideoGrant) bool {
	one, err1 := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}
