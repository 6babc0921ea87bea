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
	until      time.Time
}

// keyCache remembers answers for a short time, so that a busy client does not ask Redis for its key with every request, and a revocation still works soon.
type keyCache struct {
	ttl time.Duration
	now func() time.Time

	mu      sync.Mutex
	entries map[string]keyEntry
}

func newKeyCache(ttl time.Duration, now func() time.Time) *keyCache {
	return &keyCache{ttl: ttl, now: now, entries: map[string]keyEntry{}}
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
}

func (k *keyCache) drop(hash string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.entries, hash)
}
