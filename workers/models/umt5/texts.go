package umt5

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// Features are what a prompt became: rows of dim numbers, one for each token that counts.
// They are shared and must not be written.
type Features struct {
	Tokens Tokens
	Rows   []float32
}

// Splitter turns a prompt into tokens: a Tokenizer, or Hashes in place of one.
type Splitter interface {
	Encode(prompt string, length int) (Tokens, error)
}

// Texts turns prompts into features and remembers the last ones by their digest. Its methods may
// be called at once.
type Texts struct {
	tokenizer Splitter
	encoder   *Encoder
	length    int
	kept      int
	mu        sync.Mutex
	recent    *list.List // of *remembered, the last used first
	byDigest  map[[sha256.Size]byte]*list.Element
}

// remembered is one prompt's features.
type remembered struct {
	digest [sha256.Size]byte
	rows   []float32
}

// NewTexts joins a tokenizer and an encoder. Prompts become length tokens; the features of the
// last kept different ones are remembered.
func NewTexts(t Splitter, e *Encoder, length, kept int) *Texts {
	return &Texts{tokenizer: t, encoder: e, length: length, kept: kept, recent: list.New(), byDigest: map[[sha256.Size]byte]*list.Element{}}
}

// Features encodes a prompt, or remembers what it became: texts that have the same tokens have the
// same features.
func (t *Texts) Features(prompt string) (Features, error) {
	tokens, err := t.tokenizer.Encode(prompt, t.length)
	if err != nil {
		return Features{}, err
	}
	digest := digestOf(tokens)
	if rows := t.find(digest); rows != nil {
		return Features{tokens, rows}, nil
	}
	rows, err := t.encoder.Encode(tokens)
	if err != nil {
		return Features{}, err
	}
	t.remember(digest, rows)
	return Features{tokens, rows}, nil
}

// digestOf is the SHA-256 of the tokens that count.
func digestOf(t Tokens) [sha256.Size]byte {
	var data []byte
	for _, id := range t.IDs[:t.Length] {
		data = binary.LittleEndian.AppendUint32(data, uint32(id))
	}
	return sha256.Sum256(data)
}

func (t *Texts) find(digest [sha256.Size]byte) []float32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.byDigest[digest]
	if !ok {
		return nil
	}
	t.recent.MoveToFront(e)
	return e.Value.(*remembered).rows
}

func (t *Texts) remember(digest [sha256.Size]byte, rows []float32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.byDigest[digest]; ok || t.kept < 1 {
		return
	}
	t.byDigest[digest] = t.recent.PushFront(&remembered{digest, rows})
	for t.recent.Len() > t.kept {
		last := t.recent.Back()
		delete(t.byDigest, t.recent.Remove(last).(*remembered).digest)
	}
}
