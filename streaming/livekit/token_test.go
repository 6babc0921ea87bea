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
	"github.com/twitchtv/twirp"

	"telefuser/internal/bench/viewer"
	"telefuser/streaming"
	"telefuser/streaming/livekit"
)

// holder is somebody with one of our tokens who tries more than it allows.
type holder struct {
	*viewer.Viewer
	stack                 *stack
	token, room, identity string
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
	return s.validate(tb, token, query) == http.StatusOK
}

// validate answers the media server's word on a token, as a status of HTTP.
func (s *stack) validate(tb testing.TB, token, query string) int {
	tb.Helper()
	res, err := http.Get(strings.Replace(s.process.URL, "ws", "http", 1) + "/rtc/validate?" + url.Values{"access_token": {token}}.Encode() + query)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// hold gives somebody a token, with which they join.
func (s *stack) hold(tb testing.TB, room, identity string, role streaming.Role) holder {
	tb.Helper()
	h := holder{stack: s, token: s.token(tb, room, identity, role), room: room, identity: identity}
	v, err := viewer.Join(tb.Context(), s.process.URL, h.token, viewer.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(v.Close)
	h.Viewer = v
	return h
}

// TestTokensForbidEverythingElse tries what neither role's token allows, and what a viewer's does not: the media server itself refuses every attempt.
func TestTokensForbidEverythingElse(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	v, c := s.hold(t, room, "viewer", streaming.RoleViewer), s.hold(t, room, "controller", streaming.RoleController)
	next(t, p, streaming.EventJoined)
	next(t, p, streaming.EventJoined)
	for _, h := range []holder{v, c} {
		if !s.canJoin(t, h.token, "") {
			t.Fatal("a good token is refused: nothing below means anything")
		}
		for name, try := range apiCalls(room) {
			t.Run(h.identity+" may not "+name, func(t *testing.T) { refused(t, try(t.Context(), h.service())) })
		}
		t.Run(h.identity+" may not change the token's room", h.changesRoom)
		t.Run(h.identity+" may not bring attributes", h.bringsAttributes)
		t.Run(h.identity+" may not rename itself", h.renames)
	}
	t.Run("viewer may not publish data", func(t *testing.T) { s.viewerIsMute(t, v, c.Viewer, p) })
	t.Run("nobody may publish a track", func(t *testing.T) {
		for _, h := range []holder{v, c} {
			t.Run(h.identity, func(t *testing.T) { t.Parallel(); h.publishes(t) })
		}
	})
}

// refused wants the media server's no, and no other failure.
func refused(t *testing.T, err error) {
	t.Helper()
	var answer twirp.Error
	if !errors.As(err, &answer) || answer.Code() != twirp.PermissionDenied && answer.Code() != twirp.Unauthenticated {
		t.Errorf("it is not refused: %v", err)
	}
}

// apiCalls are attempts at the media server's API.
func apiCalls(room string) map[string]func(context.Context, lkproto.RoomService) error {
	publisher := "telefuser-s-" + room
	return map[string]func(context.Context, lkproto.RoomService) error{
		"list rooms": func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.ListRooms(ctx, &lkproto.ListRoomsRequest{})
			return err
		},
		"create a room": func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.CreateRoom(ctx, &lkproto.CreateRoomRequest{Name: "evil"})
			return err
		},
		"delete the room": func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.DeleteRoom(ctx, &lkproto.DeleteRoomRequest{Room: room})
			return err
		},
		"describe the room": func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.UpdateRoomMetadata(ctx, &lkproto.UpdateRoomMetadataRequest{Room: room, Metadata: "evil"})
			return err
		},
		"list participants": func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.ListParticipants(ctx, &lkproto.ListParticipantsRequest{Room: room})
			return err
		},
		"remove the publisher": func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.RemoveParticipant(ctx, &lkproto.RoomParticipantIdentity{Room: room, Identity: publisher})
			return err
		},
		"grant itself more": func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.UpdateParticipant(ctx, &lkproto.UpdateParticipantRequest{Room: room, Identity: "viewer",
				Permission: &lkproto.ParticipantPermission{CanPublish: true, CanPublishData: true, CanSubscribe: true}})
			return err
		},
		"send data by the API": func(ctx context.Context, c lkproto.RoomService) error {
			_, err := c.SendData(ctx, &lkproto.SendDataRequest{Room: room, Data: []byte("evil")})
			return err
		},
	}
}

// changesRoom writes another room into the token, whose signature then is wrong.
func (h holder) changesRoom(t *testing.T) {
	part := strings.Split(h.token, ".")
	claims, err := base64.RawURLEncoding.DecodeString(part[1])
	if err != nil {
		t.Fatal(err)
	}
	other := h.stack.room(t)
	part[1] = base64.RawURLEncoding.EncodeToString(bytes.ReplaceAll(claims, []byte(h.room), []byte(other)))
	if status := h.stack.validate(t, strings.Join(part, "."), ""); status != http.StatusUnauthorized {
		t.Errorf("the answer is %d", status)
	}
	if err := (holder{stack: h.stack, token: strings.Join(part, ".")}).enter(nil); err == nil {
		t.Error("it is in another room")
	}
}

// bringsAttributes joins with attributes of its own, which others could take for ours. Without them it gets in.
func (h holder) bringsAttributes(t *testing.T) {
	again := holder{stack: h.stack, token: h.stack.token(t, h.room, h.identity+"2", streaming.RoleViewer)}
	if err := again.enter(nil); err != nil {
		t.Fatal(err)
	}
	if err := again.enter(lksdk.WithExtraAttributes(map[string]string{"role": "controller"})); err == nil {
		t.Error("the media server let it happen")
	}
}

// publishes tries to publish a picture. The library only sees that nobody answers, so the server is asked what there is.
func (h holder) publishes(t *testing.T) {
	track, err := lksdk.NewLocalTrack(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Room().LocalParticipant.PublishTrack(track, &lksdk.TrackPublicationOptions{Name: "evil"}); err == nil {
		t.Error("the media server took the track")
	}
	if info := h.info(t); len(info.GetTracks()) != 0 || info.GetPermission().GetCanPublish() {
		t.Errorf("the server knows %v", info)
	}
}

// info is the holder as the media server's operator sees it.
func (h holder) info(t *testing.T) *lkproto.ParticipantInfo {
	t.Helper()
	client := lksdk.NewRoomServiceClient(h.stack.process.URL, h.stack.process.APIKey, h.stack.process.APISecret)
	info, err := client.GetParticipant(t.Context(), &lkproto.RoomParticipantIdentity{Room: h.room, Identity: h.identity})
	if err != nil {
		t.Fatal(err)
	}
	return info
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

// renames tries to change what others see of it.
func (h holder) renames(t *testing.T) {
	h.Room().LocalParticipant.SetName("boss")
	h.Room().LocalParticipant.SetMetadata("boss")
	// Nothing answers an attempt that is ignored, so its effect is looked for during a time in which it would have come.
	ctx := within(t, time.Second)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if info := h.info(t); info.GetName() != h.identity || info.GetMetadata() != "" {
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
