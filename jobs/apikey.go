package jobs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// KeyInfo is what may be shown of an API key; its secret was shown once, when it was made.
type KeyInfo struct {
	ID     string
	Tenant string
	Name   string
	// Hint is the first characters of the secret, enough to tell keys apart.
	Hint      string
	CreatedAt time.Time
	// Limits are its own, by the names of QuotaNames; those of the configuration hold for the rest.
	Limits map[string]int64
}

// The form of a secret: a prefix and 192 random bits.
const (
	secretPrefix   = "tf-"
	secretBytes    = 24
	secretBytesMax = 256
	hintChars      = 7
	nameBytesMax   = 128
)

// CreateKey makes an API key of a tenant; an empty tenant makes a new one of its own. The secret is returned once and stored nowhere: Redis holds its SHA-256.
func (s *Store) CreateKey(ctx context.Context, tenant, name string) (secret string, info KeyInfo, err error) {
	if tenant == "" {
		tenant = newID("t_", time.Now())
	}
	if !tenantPattern.MatchString(tenant) || len(name) > nameBytesMax || strings.ContainsAny(name, "\n\r") {
		return "", KeyInfo{}, fmt.Errorf("jobs: create key: tenant or name: %w", ErrInvalid)
	}
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails: the standard library ends the process instead
	secret = secretPrefix + base64.RawURLEncoding.EncodeToString(raw)
	now, err := s.rdb.Time(ctx).Result()
	if err != nil {
		return "", KeyInfo{}, unavailable("create key", err)
	}
	info = KeyInfo{ID: newID("key_", now), Tenant: tenant, Name: name, Hint: secret[:hintChars], CreatedAt: time.UnixMilli(now.UnixMilli()).UTC()}
	hash := hashSecret(secret)
	pipe := s.rdb.TxPipeline()
	pipe.HSet(ctx, s.key("k:")+hash, "h", hash, "id", info.ID, "t", tenant, "name", name, "hint", info.Hint, "c", info.CreatedAt.UnixMilli())
	pipe.HSet(ctx, s.key("keys"), info.ID, hash)
	if _, err := pipe.Exec(ctx); err != nil {
		return "", KeyInfo{}, unavailable("create key", err)
	}
	return secret, info, nil
}

// ListKeys lists the keys of a tenant, or of all when it is empty, oldest first.
func (s *Store) ListKeys(ctx context.Context, tenant string) ([]KeyInfo, error) {
	hashes, err := s.rdb.HGetAll(ctx, s.key("keys")).Result()
	if err != nil {
		return nil, unavailable("list keys", err)
	}
	var out []KeyInfo
	for _, hash := range hashes {
		f, err := s.rdb.HGetAll(ctx, s.key("k:")+hash).Result()
		if err != nil {
			return nil, unavailable("list keys", err)
		}
		if len(f) > 0 && (tenant == "" || f["t"] == tenant) {
			out = append(out, decodeKey(f))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, nil
}

func decodeKey(f map[string]string) KeyInfo {
	info := KeyInfo{ID: f["id"], Tenant: f["t"], Name: f["name"], Hint: f["hint"], Limits: ownLimits(f)}
	if ms, err := strconv.ParseInt(f["c"], 10, 64); err == nil {
		info.CreatedAt = time.UnixMilli(ms).UTC()
	}
	return info
}

// RevokeKey ends a key by its id. Every process refuses it within KeyCacheTTL.
func (s *Store) RevokeKey(ctx context.Context, id string) error {
	hash, err := s.rdb.HGet(ctx, s.key("keys"), id).Result()
	if isNil(err) {
		return fmt.Errorf("jobs: revoke key: %w", ErrNotFound)
	}
	if err != nil {
		return unavailable("revoke key", err)
	}
	pipe := s.rdb.TxPipeline()
	pipe.Del(ctx, s.key("k:")+hash)
	pipe.HDel(ctx, s.key("keys"), id)
	if _, err := pipe.Exec(ctx); err != nil {
		return unavailable("revoke key", err)
	}
	s.keys.drop(hash, id)
	return nil
}

// Authenticate says whose a secret is. ErrUnauthorized means no live key has it; ErrUnavailable means that it is not known.
func (s *Store) Authenticate(ctx context.Context, secret string) (tenant, keyID string, err error) {
	if !strings.HasPrefix(secret, secretPrefix) || len(secret) > secretBytesMax {
		return "", "", fmt.Errorf("jobs: authenticate: %w", ErrUnauthorized)
	}
	hash := hashSecret(secret)
	entry, ok := s.keys.get(hash)
	if !ok {
		f, err := s.rdb.HGetAll(ctx, s.key("k:")+hash).Result()
		if err != nil {
			return "", "", unavailable("authenticate", err)
		}
		if subtle.ConstantTimeCompare([]byte(f["h"]), []byte(hash)) == 1 {
			entry = keyEntry{tenant: f["t"], id: f["id"], own: ownLimits(f)}
		}
		s.keys.put(hash, entry)
	}
	if entry.id == "" {
		return "", "", fmt.Errorf("jobs: authenticate: %w", ErrUnauthorized)
	}
	return entry.tenant, entry.id, nil
}

func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
