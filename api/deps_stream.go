package api

import (
	"context"
	"time"

	"telefuser/streaming"
)

// Sessions is what the API uses of streaming.Store.
type Sessions interface {
	Create(ctx context.Context, r streaming.CreateRequest) (streaming.Session, error)
	Get(ctx context.Context, tenant, id string) (streaming.Session, error)
	List(ctx context.Context, r streaming.ListRequest) (page []streaming.Session, hasMore bool, err error)
	End(ctx context.Context, tenant, id, reason string) (streaming.Session, error)
	Health(ctx context.Context, pipeline string) (streaming.Health, error)
}

// Rooms is what the API uses of the media server.
type Rooms interface {
	Create(ctx context.Context, room string) error
	Delete(ctx context.Context, room string) error
	Token(room, identity string, role streaming.Role, ttl time.Duration) (string, error)
	URL() string
	// Check answers nil when the server can be reached.
	Check(ctx context.Context) error
}
