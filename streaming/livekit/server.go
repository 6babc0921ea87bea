package livekit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"

	"telefuser/streaming"
)

var _ streaming.Rooms = (*Server)(nil)

// Server is one media server, or one cluster of them. Its methods may be called at the same time.
type Server struct {
	cfg   Config
	rooms *lksdk.RoomServiceClient
	http  *http.Client
}

// tameLibrary is for what the library logs of no room in particular: it has one logger in a process, which would write to standard error.
var tameLibrary sync.Once //nolint:gochecknoglobals // the library's is one

// New prepares for a media server; Check says whether it is there. The first one's Log also takes what the library says of no connection in particular.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	tameLibrary.Do(func() { lksdk.SetLogger(pionLogger(cfg.Log)) })
	return &Server{cfg: cfg, rooms: lksdk.NewRoomServiceClient(cfg.URL, cfg.APIKey, cfg.APISecret), http: &http.Client{Timeout: cfg.CallTimeout}}, nil
}

// URL is what clients connect to.
func (s *Server) URL() string { return s.cfg.PublicURL }

// Create makes a room; one that is there stays as it is.
func (s *Server) Create(ctx context.Context, room string) error {
	if !roomPattern.MatchString(room) {
		return fmt.Errorf("livekit: create room: %w", ErrInvalid)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	_, err := s.rooms.CreateRoom(ctx, &livekit.CreateRoomRequest{
		Name: room, EmptyTimeout: seconds(s.cfg.RoomEmptyTimeout), DepartureTimeout: seconds(s.cfg.DepartureTimeout),
		MaxParticipants: uint32(s.cfg.ParticipantsMax),
	})
	if err != nil {
		return translate("create room "+room, err)
	}
	return nil
}

func seconds(d time.Duration) uint32 { return uint32((d + time.Second - 1) / time.Second) }

// Delete puts everybody out and ends the room; one that is not there is no error.
func (s *Server) Delete(ctx context.Context, room string) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	if _, err := s.rooms.DeleteRoom(ctx, &livekit.DeleteRoomRequest{Room: room}); err != nil {
		if err = translate("delete room "+room, err); !errors.Is(err, ErrRoomNotFound) {
			return err
		}
	}
	return nil
}

// Check answers nil when the server answers, takes our key, and lets nobody into a room that was not made.
func (s *Server) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	room := "tf-check-" + rand.Text()
	if _, err := s.rooms.ListRooms(ctx, &livekit.ListRoomsRequest{Names: []string{room}}); err != nil {
		return translate("list rooms", err)
	}
	// The server is asked whether a client would be let in, without letting it in.
	token, err := s.Token(room, "check", streaming.RoleViewer, 0)
	if err != nil {
		return err
	}
	status, err := s.get(ctx, "/rtc/validate?"+url.Values{"access_token": {token}}.Encode())
	switch {
	case err != nil:
		return translate("ask about a room", err)
	case status == http.StatusOK:
		return fmt.Errorf("livekit: check: %w", ErrAutoCreate)
	case status != http.StatusNotFound:
		return fmt.Errorf("livekit: check: %w: status %d", ErrUnavailable, status)
	}
	return nil
}

func (s *Server) get(ctx context.Context, path string) (status int, err error) {
	res, err := s.ask(ctx, path)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// ask sends a GET. Its error does not name the address, which may hold a token.
func (s *Server) ask(ctx context.Context, path string) (*http.Response, error) {
	base := strings.TrimSuffix(s.cfg.URL, "/")
	if rest, isSocket := strings.CutPrefix(base, "ws"); isSocket {
		base = "http" + rest
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := s.http.Do(req)
	var named *url.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	return res, err
}

// exists answers nil when the room is there, ErrRoomNotFound when it is not.
func (s *Server) exists(ctx context.Context, room string) error {
	list, err := s.rooms.ListRooms(ctx, &livekit.ListRoomsRequest{Names: []string{room}})
	if err != nil {
		return translate("look for room "+room, err)
	}
	if len(list.GetRooms()) == 0 {
		return fmt.Errorf("livekit: look for room %s: %w", room, ErrRoomNotFound)
	}
	return nil
}

// publisher answers who is in the room as the session's publisher, nil when nobody is.
func (s *Server) publisher(ctx context.Context, room, session string) (*livekit.ParticipantInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	p, err := s.rooms.GetParticipant(ctx, &livekit.RoomParticipantIdentity{Room: room, Identity: publisherIdentity(session)})
	if err != nil {
		if err = translate("look for the publisher", err); errors.Is(err, ErrRoomNotFound) {
			return nil, nil
		}
		return nil, err
	}
	return p, nil
}

// publisherEpoch answers the epoch of the session's publisher in the room, 0 when there is none.
func (s *Server) publisherEpoch(ctx context.Context, room, session string) (int, error) {
	p, err := s.publisher(ctx, room, session)
	return epochOf(p), err
}
