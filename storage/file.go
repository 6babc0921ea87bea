package storage

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// File keeps objects as files under one directory. For the key "a/b.mp4" there are
//
//	a/<blob>@b.mp4   the bytes, under a random blob name
//	a/@b.mp4         the record: length, digest, type and blob name, in JSON
//
// The object exists when its record does, so that bytes and record become visible in one step, a hard link that refuses to overwrite.
// Everything unfinished lies in .tmp. A key holds neither "@" nor a segment with a leading dot, so the names never meet.
type File struct {
	root *os.Root
}

const (
	tmpDir       = ".tmp"
	recordSuffix = ".json"
	dirPerm      = 0o700
	filePerm     = 0o600
	// recordBytesMax bounds a record that is read.
	recordBytesMax = 16 << 10
)

// record is what is kept beside the bytes.
type record struct {
	Key         string    `json:"key"`
	Blob        string    `json:"blob"`
	SizeBytes   int64     `json:"size_bytes"`
	SHA256      string    `json:"sha256"`
	ContentType string    `json:"content_type"`
	ModifiedAt  time.Time `json:"modified_at"`
}

// NewFile opens the file driver and sweeps what crashed puts left behind.
func NewFile(cfg FileConfig) (*File, error) {
	if cfg.Dir == "" {
		return nil, errors.New("storage: the file driver needs a directory")
	}
	if err := os.MkdirAll(cfg.Dir, dirPerm); err != nil {
		return nil, fmt.Errorf("storage: make %s: %w", cfg.Dir, fileError(err))
	}
	root, err := os.OpenRoot(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("storage: open %s: %w", cfg.Dir, fileError(err))
	}
	f := &File{root: root}
	if err := root.MkdirAll(tmpDir, dirPerm); err != nil {
		return nil, errors.Join(fmt.Errorf("storage: make %s: %w", tmpDir, fileError(err)), root.Close())
	}
	if _, err := f.Sweep(context.Background()); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// Sign answers ErrUnsupported: a file has no address.
func (f *File) Sign(context.Context, string, SignOptions) (string, error) {
	return "", fmt.Errorf("storage: sign: %w", ErrUnsupported)
}

// Check writes and removes a small file.
func (f *File) Check(context.Context) error {
	name := path.Join(tmpDir, rand.Text()+".check")
	if err := f.root.WriteFile(name, []byte("check"), filePerm); err != nil {
		return fmt.Errorf("storage: check: %w", errors.Join(fileError(err), ignoreMissing(f.root.Remove(name))))
	}
	if err := f.root.Remove(name); err != nil {
		return fmt.Errorf("storage: check: %w", fileError(err))
	}
	return nil
}

// recordPath and blobPath are where the two halves of an object lie.
func recordPath(key string) string { return path.Join(path.Dir(key), "@"+path.Base(key)) }

func blobPath(key, blob string) string { return path.Join(path.Dir(key), blob+"@"+path.Base(key)) }

func (r record) object() Object {
	return Object{
		Key: r.Key, SizeBytes: r.SizeBytes, SHA256: r.SHA256, ContentType: r.ContentType, ModifiedAt: r.ModifiedAt,
		ETag: `"` + r.SHA256[:min(len(r.SHA256), etagHexDigits)] + `"`,
	}
}

// etagHexDigits is how much of the digest makes the ETag: 128 bits are enough to tell versions apart.
const etagHexDigits = 32

// readRecord reads the record at a path of the root.
func (f *File) readRecord(name string) (record, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return record{}, fileError(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return record{}, fileError(err)
	}
	if info.Size() > recordBytesMax {
		return record{}, fmt.Errorf("%w: the record is %d bytes long", ErrCorrupt, info.Size())
	}
	var r record
	if err := json.NewDecoder(file).Decode(&r); err != nil {
		return record{}, fmt.Errorf("%w: the record: %v", ErrCorrupt, err)
	}
	return r, nil
}

// syncDir makes the entries of a directory durable.
func (f *File) syncDir(name string) error {
	dir, err := f.root.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// ignoreMissing turns "is not there" into success.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
