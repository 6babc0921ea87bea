package livekit

import (
	"context"
	"errors"
	"fmt"

	"github.com/twitchtv/twirp"
)

// The sentinels of the room. Every error that leaves it wraps one of them, or the cause of the caller's context; the text of the media server is for logs.
var (
	// ErrInvalid says that an argument breaks a documented rule.
	ErrInvalid = errors.New("livekit: invalid argument")
	// ErrUnavailable says that the media server did not answer in time, or with an error of its own.
	ErrUnavailable = errors.New("livekit: the media server is not available")
	// ErrDenied says that the media server does not accept our key.
	ErrDenied = errors.New("livekit: the media server does not accept the API key")
	// ErrRoomNotFound says that there is no such room.
	ErrRoomNotFound = errors.New("livekit: no such room")
	// ErrAutoCreate says that the media server makes rooms for whoever joins, so that an old token would open an ended session's room again.
	ErrAutoCreate = errors.New("livekit: the media server makes rooms by itself: set room.auto_create to false")
	// ErrReplaced says that a newer epoch is in the room.
	ErrReplaced = errors.New("livekit: a newer epoch is in the room")
	// ErrClosed says that the publisher has left its room, or lost it.
	ErrClosed = errors.New("livekit: the room was left")
)

// translate turns an error of the media server's API into one of ours.
func translate(op string, err error) error {
	var answer twirp.Error
	kind := ErrUnavailable
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("livekit: %s: %w", op, context.Canceled)
	case !errors.As(err, &answer):
	case answer.Code() == twirp.NotFound:
		kind = ErrRoomNotFound
	case answer.Code() == twirp.Unauthenticated || answer.Code() == twirp.PermissionDenied:
		kind = ErrDenied
	case answer.Code() == twirp.InvalidArgument:
		kind = ErrInvalid
	}
	return fmt.Errorf("livekit: %s: %w: %v", op, kind, err)
}
