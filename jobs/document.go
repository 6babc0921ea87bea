package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// documentKind is a kind of tenant's document that is written once: its letter in keys, and the form of its ids.
type documentKind struct {
	letter  string
	prefix  string
	pattern *regexp.Regexp
}

var (
	filesKind      = documentKind{"f", "file-", regexp.MustCompile(`^file-[0-9A-Za-z]{26}$`)}
	charactersKind = documentKind{"c", "char_", regexp.MustCompile(`^char_[0-9A-Za-z]{26}$`)}
)

// put stores a document and returns its time of creation by the clock of Redis. The object key must be staged, and is staged no longer; ErrUnstaged
// means that it was given up before, so that its object may be gone.
func (s *Store) put(ctx context.Context, kind documentKind, tenant, id, objectKey string, bytes int64, doc any) (time.Time, error) {
	if !tenantPattern.MatchString(tenant) || !kind.pattern.MatchString(id) || !validKeys([]string{objectKey}) {
		return time.Time{}, fmt.Errorf("jobs: put %s: %w", id, ErrInvalid)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return time.Time{}, fmt.Errorf("jobs: put %s: %w: %w", id, ErrInvalid, err)
	}
	created, err := s.evalWord(ctx, "put", kind.letter, id, tenant, text, objectKey, max(bytes, 0))
	if err != nil {
		return time.Time{}, err
	}
	if created == "unstaged" {
		return time.Time{}, fmt.Errorf("jobs: put %s: %w", id, ErrUnstaged)
	}
	at := parseMS(created)
	if at.IsZero() {
		return time.Time{}, fmt.Errorf("jobs: put %s: the id is taken: %w", id, ErrInvalid)
	}
	return at, nil
}

// get reads a document into doc and returns its time of creation.
func (s *Store) get(ctx context.Context, kind documentKind, tenant, id string, doc any) (time.Time, error) {
	if !kind.pattern.MatchString(id) {
		return time.Time{}, fmt.Errorf("jobs: get: %w", ErrNotFound)
	}
	f, err := s.rdb.HGetAll(ctx, s.key(kind.letter+":")+id).Result()
	if err != nil {
		return time.Time{}, unavailable("get "+id, err)
	}
	if len(f) == 0 || f["t"] != tenant {
		return time.Time{}, fmt.Errorf("jobs: get %s: %w", id, ErrNotFound)
	}
	return decodeDocument(f["c"], f["doc"], doc)
}

func decodeDocument(created, text string, doc any) (time.Time, error) {
	if err := json.Unmarshal([]byte(text), doc); err != nil {
		return time.Time{}, fmt.Errorf("jobs: document: %w", err)
	}
	return parseMS(created), nil
}

// documents reads a page of a tenant's documents: pairs of creation time and text.
func (s *Store) documents(ctx context.Context, kind documentKind, tenant string, q ListQuery) (page []string, hasMore bool, err error) {
	if !tenantPattern.MatchString(tenant) || (q.After != "" && !kind.pattern.MatchString(q.After)) {
		return nil, false, fmt.Errorf("jobs: list: %w", ErrInvalid)
	}
	answer, err := s.evalList(ctx, "documents", kind.letter, tenant, q.After, q.limit(), flag(q.Descending))
	if err != nil {
		return nil, false, err
	}
	return texts(answer[1:]), word(answer, 0) == "1", nil
}

// remove deletes a document; its object becomes garbage.
func (s *Store) remove(ctx context.Context, kind documentKind, tenant, id string, doc any) (time.Time, error) {
	if !kind.pattern.MatchString(id) {
		return time.Time{}, fmt.Errorf("jobs: delete: %w", ErrNotFound)
	}
	answer, err := s.evalList(ctx, "remove", kind.letter, id, tenant)
	if err != nil {
		return time.Time{}, err
	}
	if len(answer) == 0 {
		return time.Time{}, fmt.Errorf("jobs: delete %s: %w", id, ErrNotFound)
	}
	return decodeDocument(word(answer, 0), word(answer, 1), doc)
}

// parseMS reads milliseconds since 1970; zero when the text is none.
func parseMS(text string) time.Time {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
