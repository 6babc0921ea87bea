package livekit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"

	"telefuser/streaming"
)

const (
	// tokenTTLMax bounds a token's life: it cannot be taken back.
	tokenTTLMax = 24 * time.Hour
	// publisherPrefix begins the identities of our own publishers; no client gets one.
	publisherPrefix = "telefuser-"
)

var (
	identityPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	roomPattern     = identityPattern
)

// Token lets one identity into one room, with its role's rights and no other, for ttl; 0 takes Config.TokenTTL. A second holder of the same token puts the
// first one out.
func (s *Server) Token(room, identity string, role streaming.Role, ttl time.Duration) (string, error) {
	if ttl == 0 {
		ttl = s.cfg.TokenTTL
	}
	switch {
	case !roomPattern.MatchString(room):
		return "", fmt.Errorf("livekit: token: room: %w", ErrInvalid)
	case !identityPattern.MatchString(identity) || strings.HasPrefix(identity, publisherPrefix):
		return "", fmt.Errorf("livekit: token: identity: %w", ErrInvalid)
	case role != streaming.RoleController && role != streaming.RoleViewer:
		return "", fmt.Errorf("livekit: token: role: %w", ErrInvalid)
	case ttl < time.Second || ttl > tokenTTLMax:
		return "", fmt.Errorf("livekit: token: ttl: %w", ErrInvalid)
	}
	// Every right is said: what is left out counts as granted.
	grant := &auth.VideoGrant{RoomJoin: true, Room: room}
	grant.SetCanPublish(false)
	grant.SetCanPublishData(role == streaming.RoleController)
	grant.SetCanSubscribe(true)
	grant.SetCanUpdateOwnMetadata(false)
	return s.sign(grant, identity, "", ttl)
}

// publisherToken lets the publisher of a session in. All epochs of a session have the same identity, because the media server then puts the older out.
func (s *Server) publisherToken(j streaming.Join) (string, error) {
	grant := &auth.VideoGrant{RoomJoin: true, Room: j.Room}
	grant.SetCanPublish(true)
	grant.SetCanPublishSources([]livekit.TrackSource{livekit.TrackSource_CAMERA, livekit.TrackSource_MICROPHONE})
	grant.SetCanPublishData(true)
	grant.SetCanSubscribe(false)
	grant.SetCanUpdateOwnMetadata(false)
	about, err := json.Marshal(publisherMetadata{Epoch: j.Epoch})
	if err != nil {
		return "", fmt.Errorf("livekit: publisher token: %w", err)
	}
	return s.sign(grant, publisherIdentity(j.SessionID), string(about), s.cfg.TokenTTL)
}

// publisherMetadata is what everybody in the room can read about a publisher.
type publisherMetadata struct {
	Epoch int `json:"epoch"`
}

// epochOf reads a publisher's epoch; 0 when it says none.
func epochOf(p *livekit.ParticipantInfo) int {
	var about publisherMetadata
	if err := json.Unmarshal([]byte(p.GetMetadata()), &about); err != nil {
		return 0
	}
	return about.Epoch
}

func publisherIdentity(session string) string { return publisherPrefix + session }

func (s *Server) sign(grant *auth.VideoGrant, identity, metadata string, ttl time.Duration) (string, error) {
	token, err := auth.NewAccessToken(s.cfg.APIKey, s.cfg.APISecret).SetVideoGrant(grant).SetIdentity(identity).SetName(identity).
		SetMetadata(metadata).SetValidFor(ttl).ToJWT()
	if err != nil {
		return "", fmt.Errorf("livekit: sign token: %w", err)
	}
	return token, nil
}
