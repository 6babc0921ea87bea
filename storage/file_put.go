package storage

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"
)

// publishTries is how often a put makes its folders anew when deletes keep removing them as empty.
const publishTries = 10

// Put writes to .tmp, syncs, and then publishes bytes and record together.
func (f *File) Put(ctx context.Context, key string, r io.Reader, o PutOptions) (Object, error) {
	if err := ValidateKey(key); err != nil {
		return Object{}, err
	}
	if old, err := f.readRecord(recordPath(key)); err == nil {
		return old.object(), fmt.Errorf("storage: put %s: %w", key, ErrExists)
	}
	rec := record{Key: key, Blob: rand.Text(), ContentType: contentType(o.ContentType)}
	data, intent := path.Join(tmpDir, rec.Blob+".data"), path.Join(tmpDir, rec.Blob+recordSuffix)
	defer func() { _ = f.root.Remove(data); _ = f.root.Remove(intent) }()

	sum, err := f.writeData(ctx, data, r)
	if err != nil {
		return Object{}, fmt.Errorf("storage: put %s: %w", key, err)
	}
	if err := sum.verify(o); err != nil {
		return Object{}, fmt.Errorf("storage: put %s: %w", key, err)
	}
	rec.SizeBytes, rec.SHA256, rec.ModifiedAt = sum.size, sum.sha256, time.Now().UTC()
	if err := f.writeIntent(intent, rec); err != nil {
		return Object{}, fmt.Errorf("storage: put %s: %w", key, fileError(err))
	}
	if err := f.publish(rec, data, intent); err != nil {
		if errors.Is(err, ErrExists) {
			old, _ := f.readRecord(recordPath(key))
			return old.object(), fmt.Errorf("storage: put %s: %w", key, err)
		}
		return Object{}, fmt.Errorf("storage: put %s: %w", key, err)
	}
	return rec.object(), nil
}

// writeData copies r into a new, synced file.
func (f *File) writeData(ctx context.Context, name string, r io.Reader) (digest, error) {
	file, err := f.root.Create(name)
	if err != nil {
		return digest{}, fileError(err)
	}
	defer file.Close()
	sum, err := measure(ctx, file, r)
	if err != nil {
		return digest{}, err
	}
	if err := file.Sync(); err != nil {
		return digest{}, fileError(err)
	}
	return sum, fileError(file.Close())
}

// writeIntent writes the record where the sweep finds it, so that a crash between publishing bytes and record leaves no orphan.
func (f *File) writeIntent(name string, rec record) error {
	file, err := f.root.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := json.NewEncoder(file).Encode(rec); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return file.Close()
}

// publish moves the bytes to their place and links the record beside them. It leaves either both or nothing.
func (f *File) publish(rec record, data, intent string) error {
	blob := blobPath(rec.Key, rec.Blob)
	if err := f.moveIntoPlace(data, blob); err != nil {
		return fileError(err)
	}
	if err := f.root.Link(intent, recordPath(rec.Key)); err != nil {
		return errors.Join(fileError(err), fileError(f.root.Remove(blob)))
	}
	err := f.syncDir(path.Dir(blob))
	if err == nil {
		// A sweep that took this put for dead has removed the bytes.
		_, err = f.root.Stat(blob)
	}
	if err != nil {
		err = fmt.Errorf("%w: %v", ErrUnavailable, err)
		return errors.Join(err, ignoreMissing(f.root.Remove(recordPath(rec.Key))), ignoreMissing(f.root.Remove(blob)))
	}
	return nil
}

// moveIntoPlace renames, making the folders on the way; a concurrent delete may remove them again while they are empty.
func (f *File) moveIntoPlace(from, to string) error {
	var err error
	for range publishTries {
		if err = f.makeDirs(path.Dir(to)); err == nil {
			err = f.root.Rename(from, to)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// Not "missing": nobody asked for something that is not there.
	return fmt.Errorf("%w: %v", ErrUnavailable, err)
}

// makeDirs makes a folder and its parents and syncs each parent that got a new entry.
func (f *File) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	err := f.root.Mkdir(dir, dirPerm)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.makeDirs(path.Dir(dir)); err != nil {
			return err
		}
		if err = f.root.Mkdir(dir, dirPerm); errors.Is(err, fs.ErrExist) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return f.syncDir(path.Dir(dir))
}
