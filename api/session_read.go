package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"telefuser/openapi"
	"telefuser/streaming"
)

// ownSession finds the caller's session of the path. A malformed id, a missing session and another tenant's are one answer.
func (s *Server) ownSession(ctx context.Context, c echo.Context) (streaming.Session, error) {
	id := c.Param("session_id")
	if !validSessionID(id) {
		return streaming.Session{}, notFound("session_id", "session")
	}
	session, err := s.deps.Sessions.Get(ctx, callerOf(c).tenant, id)
	if err == nil {
		c.Set(sessionIDKey, id)
	}
	return session, err
}

// getSession answers GET /v1/stream/sessions/{session_id}. A failed session is still a successful answer.
func (s *Server) getSession(c echo.Context) error {
	session, err := s.ownSession(c.Request().Context(), c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, sessionObject(session))
}

// endSession answers DELETE /v1/stream/sessions/{session_id}, in any state; its worker and its room follow by themselves.
func (s *Server) endSession(c echo.Context) error {
	id := c.Param("session_id")
	if !validSessionID(id) {
		return notFound("session_id", "session")
	}
	session, err := s.deps.Sessions.End(c.Request().Context(), callerOf(c).tenant, id, streaming.ReasonDeleted)
	if err != nil {
		return err
	}
	c.Set(sessionIDKey, id)
	return c.JSON(http.StatusOK, openapi.SessionEnded{SessionID: id, Status: openapi.SessionStatus(session.Status)})
}

// listSessions answers GET /v1/stream/sessions.
func (s *Server) listSessions(c echo.Context) error {
	query, err := queryOf(c, "limit", "after")
	if err != nil {
		return err
	}
	request := streaming.ListRequest{Tenant: callerOf(c).tenant, After: query.Get("after")}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > sessionsLimitMax {
			return badRequest("limit", codeInvalidValue, "limit must be a whole number from 1 to "+strconv.Itoa(sessionsLimitMax)+".")
		}
		request.Limit = n
	}
	wrongAfter := badRequest("after", codeInvalidValue, "after must be the id of a session that is still there.")
	if request.After != "" && !validSessionID(request.After) {
		return wrongAfter
	}
	page, more, err := s.deps.Sessions.List(c.Request().Context(), request)
	if errors.Is(err, streaming.ErrNotFound) {
		return wrongAfter
	}
	if err != nil {
		return err
	}
	list := openapi.SessionList{Object: openapi.SessionListObjectList, Data: []openapi.Session{}}
	for _, session := range page {
		list.Data = append(list.Data, sessionObject(session))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID, list.HasMore = &list.Data[0].SessionID, &list.Data[n-1].SessionID, more
	}
	return c.JSON(http.StatusOK, list)
}
