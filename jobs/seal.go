package jobs

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// SecretKeyBytes is the length of a key that seals secrets.
const SecretKeyBytes = 32

// sealedPrefix begins a sealed secret: "s1.<key id>.<base64url of nonce and ciphertext>".
const sealedPrefix = "s1."

// sealer encrypts the secrets of webhooks before they reach Redis, by AES-256-GCM. The first key seals, all of them open. A sealer without keys passes secrets on as they are, and
// opens no sealed one. A sealed secret belongs to one webhook: moved to another, it does not open.
type sealer struct {
	first string
	keys  map[string]cipher.AEAD
}

func newSealer(keys [][]byte) (*sealer, error) {
	s := &sealer{keys: map[string]cipher.AEAD{}}
	for i, key := range keys {
		if len(key) != SecretKeyBytes {
			return nil, fmt.Errorf("jobs: SecretKeys: key %d has %d bytes, want %d: %w", i+1, len(key), SecretKeyBytes, ErrInvalid)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("jobs: SecretKeys: %w", ErrInvalid)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("jobs: SecretKeys: %w", ErrInvalid)
		}
		id := SecretKeyID(key)
		if s.keys[id] = aead; i == 0 {
			s.first = id
		}
	}
	return s, nil
}

// SecretKeyID names a key without telling it: the first four bytes of its SHA-256, in hex.
func SecretKeyID(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4])
}

// seal makes the text that Redis keeps for a webhook's secret.
func (s *sealer) seal(secret Secret, webhook string) string {
	aead := s.keys[s.first]
	if aead == nil {
		return secret.Reveal()
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails: the standard library ends the process instead
	return sealedPrefix + s.first + "." + base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(secret.Reveal()), sealedFor(webhook)))
}

// open reads the text that Redis keeps; ErrSealed means that none of the keys opens it.
func (s *sealer) open(text, webhook string) (Secret, error) {
	rest, sealed := strings.CutPrefix(text, sealedPrefix)
	if !sealed {
		return Secret(text), nil
	}
	id, body, _ := strings.Cut(rest, ".")
	aead := s.keys[id]
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if aead == nil || err != nil || len(raw) < aead.NonceSize() {
		return "", fmt.Errorf("jobs: secret of %s: key %.8q: %w", webhook, id, ErrSealed)
	}
	plain, err := aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], sealedFor(webhook))
	if err != nil {
		return "", fmt.Errorf("jobs: secret of %s: key %s: %w", webhook, id, ErrSealed)
	}
	return Secret(plain), nil
}

// current says whether the text is as seal would make it now.
func (s *sealer) current(text string) bool {
	if s.first == "" {
		return true
	}
	return strings.HasPrefix(text, sealedPrefix+s.first+".")
}

// sealedFor binds a sealed secret to its webhook.
func sealedFor(webhook string) []byte { return []byte("telefuser webhook secret of " + webhook) }
