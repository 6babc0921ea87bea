package jobs

import (
	"context"
	"time"
)

// FileRecord is one uploaded file of a tenant. It never changes.
type FileRecord struct {
	ID        string `json:"id"`
	Tenant    string `json:"tenant"`
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	SizeBytes int64  `json:"size_bytes"`
	// CreatedAt is by the clock of Redis, set by PutFile.
	CreatedAt   time.Time `json:"-"`
	Key         string    `json:"key"`
	ContentType string    `json:"content_type"`
	SHA256      string    `json:"sha256"`
}

// NewFileID makes a file id, "file-" and 26 characters as in NewID.
func NewFileID(now time.Time) string { return newID(filesKind.prefix, now) }

// ValidFileID says whether the text has the form of a file id.
func ValidFileID(id string) bool { return filesKind.pattern.MatchString(id) }

// PutFile stores the record of an uploaded file, whose key is staged no longer, and returns it with its time of creation.
func (s *Store) PutFile(ctx context.Context, f FileRecord) (FileRecord, error) {
	at, err := s.put(ctx, filesKind, f.Tenant, f.ID, f.Key, f.SizeBytes, f)
	f.CreatedAt = at
	return f, err
}

// GetFile reads a file's record; another tenant's is ErrNotFound.
func (s *Store) GetFile(ctx context.Context, tenant, id string) (FileRecord, error) {
	var f FileRecord
	at, err := s.get(ctx, filesKind, tenant, id, &f)
	f.CreatedAt = at
	return f, err
}

// ListFiles reads a page of a tenant's files by id, which is by time of creation.
func (s *Store) ListFiles(ctx context.Context, tenant string, q ListQuery) (files []FileRecord, hasMore bool, err error) {
	page, hasMore, err := s.documents(ctx, filesKind, tenant, q)
	for i := 0; err == nil && i+1 < len(page); i += 2 {
		var f FileRecord
		var at time.Time
		at, err = decodeDocument(page[i], page[i+1], &f)
		f.CreatedAt = at
		files = append(files, f)
	}
	return files, hasMore, err
}

// DeleteFile removes a file's record and returns it; its object becomes garbage.
func (s *Store) DeleteFile(ctx context.Context, tenant, id string) (FileRecord, error) {
	var f FileRecord
	at, err := s.remove(ctx, filesKind, tenant, id, &f)
	f.CreatedAt = at
	return f, err
}
