package jobs

import (
	"sync"
	"time"
)

// keyCacheMax bounds the cache; a flood of unknown secrets empties it, which costs one look each and no memory.
const keyCacheMax = 4096

// keyEntry is what a secret's hash stands for; no id means no key.
type keyEntry struct {
	tenant, id string
	// own are the key's own limits.
	own   map[string]int64
	until time.Time
}

// limitsEntry is what a key's id stands for.
type limitsEntry struct {
	own   map[string]int64
	until time.Time
}

// keyCache remembers answers for a short time, so that a busy client does not ask Redis for its key with every request, and a revocation still works soon.
type keyCache struct {
	ttl time.Duration
	now func() time.Time

	mu      sync.Mutex
	entries map[string]keyEntry
	byID    map[string]limitsEntry
}

func newKeyCache(ttl time.Duration, now func() time.Time) *keyCache {
	return &keyCache{ttl: ttl, now: now, entries: map[string]keyEntry{}, byID: map[string]limitsEntry{}}
}

func (k *keyCache) get(hash string) (keyEntry, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.entries[hash]
	if !ok || !k.now().Before(e.until) {
		return keyEntry{}, false
	}
	return e, true
}

func (k *keyCache) put(hash string, e keyEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.entries) >= keyCacheMax {
		clear(k.entries)
	}
	e.until = k.now().Add(k.ttl)
	k.entries[hash] = e
	if e.id != "" {
		k.remember(e.id, e.own)
	}
}

// limits are a key's own limits by its id; false when they are not known.
func (k *keyCache) limits(id string) (map[string]int64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.byID[id]
	return e.own, ok && k.now().Before(e.until)
}

func (k *keyCache) putLimits(id string, own map[string]int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remember(id, own)
}

// remember keeps a key's own limits; the lock is held.
func (k *keyCache) remember(id string, own map[string]int64) {
	if len(k.byID) >= keyCacheMax {
		clear(k.byID)
	}
	k.byID[id] = limitsEntry{own: own, until: k.now().Add(k.ttl)}
}

// drop forgets a key by its secret's hash and its id.
func (k *keyCache) drop(hash, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.byID, id)
	delete(k.entries, hash)
}
