package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// Open reads straight from the file; the reader stays good when the object is deleted meanwhile.
func (f *File) Open(_ context.Context, key string, offset, length int64) (io.ReadCloser, Object, error) {
	if err := ValidateKey(key); err != nil {
		return nil, Object{}, err
	}
	rec, err := f.readRecord(recordPath(key))
	if err != nil {
		return nil, Object{}, fmt.Errorf("storage: open %s: %w", key, err)
	}
	n, err := rangeLength(offset, length, rec.SizeBytes)
	if err != nil {
		return nil, rec.object(), fmt.Errorf("storage: open %s: %w", key, err)
	}
	file, err := f.openBlob(rec, offset)
	if err != nil {
		return nil, Object{}, fmt.Errorf("storage: open %s: %w", key, err)
	}
	return &fileRange{file: file, left: n}, rec.object(), nil
}

// rangeLength answers how many bytes are to be read.
func rangeLength(offset, length, size int64) (int64, error) {
	switch {
	case length < -1 || length == 0 || offset < 0, offset >= size && (offset > 0 || size > 0):
		return 0, fmt.Errorf("%w: offset %d, length %d of %d bytes", ErrRange, offset, length, size)
	case length == -1:
		return size - offset, nil
	default:
		return min(length, size-offset), nil
	}
}

func (f *File) openBlob(rec record, offset int64) (*os.File, error) {
	file, err := f.root.Open(blobPath(rec.Key, rec.Blob))
	if err != nil {
		return nil, fileError(err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() != rec.SizeBytes {
		err = fmt.Errorf("%w: the file has %d bytes, the record says %d", ErrCorrupt, info.Size(), rec.SizeBytes)
		return nil, errors.Join(err, file.Close())
	}
	if err == nil {
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fileError(err), file.Close())
	}
	return file, nil
}

// fileRange reads left bytes from where the file stands.
type fileRange struct {
	file *os.File
	left int64
}

// Read translates errors; a file that became shorter is an error too.
func (r *fileRange) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.file.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	switch {
	case err == io.EOF && r.left > 0:
		return n, fmt.Errorf("storage: read: %w: the file ends early", ErrCorrupt)
	case err != nil && err != io.EOF:
		return n, fmt.Errorf("storage: read: %w", fileError(err))
	}
	return n, nil
}

// WriteTo lets the kernel copy to a socket where the writer can.
func (r *fileRange) WriteTo(w io.Writer) (int64, error) {
	n, err := io.CopyN(w, r.file, r.left)
	r.left -= n
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("storage: read: %w: the file ends early", ErrCorrupt)
	}
	return n, err
}

// Close ends the reading.
func (r *fileRange) Close() error { return r.file.Close() }

// Stat reads the record alone.
func (f *File) Stat(_ context.Context, key string) (Object, error) {
	if err := ValidateKey(key); err != nil {
		return Object{}, err
	}
	rec, err := f.readRecord(recordPath(key))
	if err != nil {
		return Object{}, fmt.Errorf("storage: stat %s: %w", key, err)
	}
	if _, err := f.root.Stat(blobPath(key, rec.Blob)); err != nil {
		return Object{}, fmt.Errorf("storage: stat %s: %w", key, fileError(err))
	}
	return rec.object(), nil
}

// Delete takes the record away first, which ends the object, and then the bytes. Folders that became empty go too.
func (f *File) Delete(_ context.Context, key string) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	tomb := path.Join(tmpDir, rand.Text()+recordSuffix)
	if err := f.root.Rename(recordPath(key), tomb); err != nil {
		if err = ignoreMissing(err); err != nil {
			return fmt.Errorf("storage: delete %s: %w", key, fileError(err))
		}
		return nil
	}
	if err := f.syncDir(path.Dir(key)); err != nil {
		return fmt.Errorf("storage: delete %s: %w", key, fileError(err))
	}
	rec, err := f.readRecord(tomb)
	if err == nil {
		err = fileError(ignoreMissing(f.root.Remove(blobPath(key, rec.Blob))))
	}
	if err != nil {
		return fmt.Errorf("storage: delete %s: %w", key, err)
	}
	f.pruneDirs(path.Dir(key))
	if err := ignoreMissing(f.root.Remove(tomb)); err != nil {
		return fmt.Errorf("storage: delete %s: %w", key, fileError(err))
	}
	return nil
}

// pruneDirs removes folders upwards until one is not empty.
func (f *File) pruneDirs(dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if f.root.Remove(dir) != nil {
			return
		}
	}
}
