package jobs

import (
	"context"
	"time"
)

// CharacterRecord is one character of a tenant: a name for an uploaded video. It never changes.
type CharacterRecord struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
	// CreatedAt is by the clock of Redis, set by PutCharacter.
	CreatedAt time.Time `json:"-"`
	Key       string    `json:"key"`
	SizeBytes int64     `json:"size_bytes,omitempty"`
}

// NewCharacterID makes a character id, "char_" and 26 characters as in NewID.
func NewCharacterID(now time.Time) string { return newID(charactersKind.prefix, now) }

// ValidCharacterID says whether the text has the form of a character id.
func ValidCharacterID(id string) bool { return charactersKind.pattern.MatchString(id) }

// PutCharacter stores the record of a character, whose object key is staged no longer, and returns it with its time of creation.
func (s *Store) PutCharacter(ctx context.Context, c CharacterRecord) (CharacterRecord, error) {
	at, err := s.put(ctx, charactersKind, c.Tenant, c.ID, c.Key, c.SizeBytes, c)
	c.CreatedAt = at
	return c, err
}

// GetCharacter reads a character's record; another tenant's is ErrNotFound.
func (s *Store) GetCharacter(ctx context.Context, tenant, id string) (CharacterRecord, error) {
	var c CharacterRecord
	at, err := s.get(ctx, charactersKind, tenant, id, &c)
	c.CreatedAt = at
	return c, err
}
