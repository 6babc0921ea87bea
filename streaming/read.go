package streaming

import (
	"context"
	"fmt"
)

// Get reads one session. ErrNotFound when the tenant has none such.
func (s *Store) Get(ctx context.Context, tenant, id string) (Session, error) {
	list, err := s.evalList(ctx, "get", tenant, id)
	if err != nil {
		return Session{}, err
	}
	return decode(id, list)
}

// Position is the session's 1-based place in the queue, 0 when it does not wait.
func (s *Store) Position(ctx context.Context, tenant, id string) (int, error) {
	session, err := s.Get(ctx, tenant, id)
	return session.Position, err
}

// The bounds of a page.
const (
	pageMax     = 100
	pageDefault = 20
)

// ListRequest asks for a page of sessions, the newest first.
type ListRequest struct {
	// Tenant is whose sessions; empty means everybody's, for operators.
	Tenant string
	// After is the id of the last session of the page before, or empty.
	After string
	// Limit is the page's size, 1 to 100; 0 takes 20.
	Limit int
}

// List reads a page of sessions. An After that is gone answers ErrNotFound.
func (s *Store) List(ctx context.Context, r ListRequest) (sessions []Session, more bool, err error) {
	if r.Limit < 0 || r.Limit > pageMax {
		return nil, false, fmt.Errorf("streaming: list: limit %d: %w", r.Limit, ErrInvalid)
	}
	if r.Limit == 0 {
		r.Limit = pageDefault
	}
	list, err := s.evalList(ctx, "list", r.Tenant, r.After, r.Limit)
	if err != nil {
		return nil, false, err
	}
	if word(list, 0) == "missing" {
		return nil, false, fmt.Errorf("streaming: list after %s: %w", r.After, ErrNotFound)
	}
	for i := 1; i+1 < len(list); i += 2 {
		session, err := decode(word(list, i), sublist(list, i+1))
		if err != nil {
			return nil, false, err
		}
		sessions = append(sessions, session)
	}
	return sessions, word(list, 0) == "more", nil
}
