package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/internal/tracing"
	"telefuser/openapi"
	"telefuser/storage"
	"telefuser/streaming"
)

// roomPrefix begins the name of every room; the session's id follows.
const roomPrefix = "tf-world-"

// createSession answers POST /v1/stream/sessions.
func (s *Server) createSession(c echo.Context) error {
	ctx, who := c.Request().Context(), callerOf(c)
	if err := s.limitRate(c, who); err != nil {
		return err
	}
	f, err := s.decodeBody(c, bodyRule{files: []string{"image", "input_reference"}})
	if err != nil {
		return err
	}
	defer f.close()
	d, err := s.draftSession(ctx, who, f)
	f.close() // what it holds of the memory for bodies is for others now
	if err != nil {
		return err
	}
	quota, err := s.deps.Jobs.Quota(ctx, who.keyID)
	if err != nil {
		return err
	}
	request := streaming.CreateRequest{Tenant: who.tenant, ID: newSessionID(), Spec: d.spec, SessionsMax: int(quota.Sessions)}
	request.Room, request.Spec.TraceParent = roomPrefix+request.ID, tracing.Place(ctx)
	if d.picture != nil {
		request.Spec.ImageKey = "sessions/" + request.ID + "/reference.png"
		if err := s.storeSessionPicture(ctx, request.Spec.ImageKey, d.picture); err != nil {
			return err
		}
	}
	session, err := s.admit(ctx, request)
	if err != nil {
		return err
	}
	c.Set(sessionIDKey, session.ID)
	token, err := s.deps.Rooms.Token(session.Room, d.spec.Controller, streaming.RoleController, s.cfg.Stream.TokenTTL)
	if err != nil {
		return mediaUnavailable(err)
	}
	status := http.StatusOK
	if session.Status == streaming.StatusQueued {
		status = http.StatusAccepted
	}
	return c.JSON(status, s.sessionTicket(session, token, d.ignored))
}

// admit makes the room and then the record, for a worker may join as soon as there is one. What was made in vain is removed; where it is not known
// whether there is a record, the media server closes the empty room itself.
func (s *Server) admit(ctx context.Context, request streaming.CreateRequest) (streaming.Session, error) {
	if err := s.deps.Rooms.Create(ctx, request.Room); err != nil {
		return streaming.Session{}, mediaUnavailable(err)
	}
	session, err := s.deps.Sessions.Create(ctx, request)
	if err == nil || errors.Is(err, streaming.ErrUnavailable) || errors.Is(err, context.Canceled) {
		return session, err
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_ = s.deps.Rooms.Delete(end, request.Room) // the media server closes it later otherwise
	if request.Spec.ImageKey != "" {
		s.discard(ctx, request.Spec.ImageKey)
	}
	return streaming.Session{}, err
}

// storeSessionPicture keeps a picture for as long as any session may need it.
func (s *Server) storeSessionPicture(ctx context.Context, key string, picture []byte) error {
	if err := s.deps.Jobs.StageFor(ctx, sessionPictureTTL, key); err != nil {
		return err
	}
	_, err := s.deps.Store.Put(ctx, key, bytes.NewReader(picture), storage.PutOptions{ContentType: "image/png", SizeBytes: int64(len(picture))})
	return err
}

// mediaUnavailable is a 503 for whatever the media server says; the cause is for the log.
func mediaUnavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &problem{status: http.StatusServiceUnavailable, typ: typeServer, code: codeMediaUnavailable, retryAfter: retryAfterSeconds, cause: err,
		message: "The media server is not available at the moment. Try again."}
}

// newSessionID is a random UUID, the form that clients of live sessions expect.
func newSessionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

var sessionIDPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// validSessionID reports whether text can be the id of a session.
func validSessionID(text string) bool { return sessionIDPattern.MatchString(text) }

// createSessionToken answers POST /v1/stream/sessions/{session_id}/tokens: the controller's way back in, and everybody else's to watch.
func (s *Server) createSessionToken(c echo.Context) error {
	ctx := c.Request().Context()
	f, err := s.decodeBody(c, bodyRule{})
	if err != nil {
		return err
	}
	defer f.close()
	identity, err := takeIdentity(f)
	if err != nil {
		return err
	}
	text, err := takeText(f, "role")
	if err != nil {
		return err
	}
	role := streaming.Role(text)
	if role == "" {
		role = streaming.RoleViewer
	}
	if role != streaming.RoleController && role != streaming.RoleViewer {
		return badRequest("role", codeInvalidValue, "role must be controller or viewer.")
	}
	session, err := s.ownSession(ctx, c)
	if err != nil {
		return err
	}
	switch own := identity == session.Spec.Controller; {
	case session.Status.Terminal():
		return sessionEnded()
	case role == streaming.RoleController && !own:
		return badRequest("identity", codeInvalidValue, "identity must be that of the session's controller.")
	case role == streaming.RoleViewer && own:
		return badRequest("identity", codeInvalidValue, "identity must not be that of the session's controller, whom it would put out of the room.")
	}
	expires := time.Now().Add(s.cfg.Stream.TokenTTL)
	token, err := s.deps.Rooms.Token(session.Room, identity, role, s.cfg.Stream.TokenTTL)
	if err != nil {
		return mediaUnavailable(err)
	}
	return c.JSON(http.StatusOK, openapi.SessionToken{SessionID: session.ID, Room: session.Room, LivekitURL: s.deps.Rooms.URL(), Token: token,
		Role: openapi.SessionTokenRole(role), ExpiresAt: unixSeconds(expires)})
}
