package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Sweep removes what has lain in .tmp for longer than LeftoverAge, with the published bytes of a put that never came to link its record and
// of a delete that did not finish.
func (f *File) Sweep(ctx context.Context) (int, error) {
	dir, err := f.root.Open(tmpDir)
	if err != nil {
		return 0, fmt.Errorf("storage: sweep: %w", fileError(err))
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return 0, fmt.Errorf("storage: sweep: %w", fileError(err))
	}
	removed := 0
	for _, e := range entries {
		if ctx.Err() != nil {
			return removed, fmt.Errorf("storage: sweep: %w", contextError(ctx))
		}
		old, err := isAbandoned(e)
		if err == nil && old {
			removed++
			err = f.removeLeftover(path.Join(tmpDir, e.Name()))
		}
		if err != nil {
			return removed, fmt.Errorf("storage: sweep %s: %w", e.Name(), err)
		}
	}
	return removed, nil
}

// isAbandoned says whether a temporary file is too old to belong to anybody. One that vanished meanwhile is not.
func isAbandoned(e fs.DirEntry) (bool, error) {
	info, err := e.Info()
	if err != nil {
		return false, fileError(ignoreMissing(err))
	}
	return time.Since(info.ModTime()) > LeftoverAge, nil
}

func (f *File) removeLeftover(name string) error {
	if strings.HasSuffix(name, recordSuffix) {
		if err := f.removeOrphan(name); err != nil {
			return err
		}
	}
	return fileError(ignoreMissing(f.root.Remove(name)))
}

// removeOrphan removes the bytes that a left record speaks of, unless the object was published with them.
func (f *File) removeOrphan(name string) error {
	intent, err := f.readRecord(name)
	if err != nil || ValidateKey(intent.Key) != nil {
		// A record that was not written to its end: nothing had been published yet.
		return nil //nolint:nilerr // see above
	}
	live, err := f.readRecord(recordPath(intent.Key))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if live.Blob == intent.Blob {
		return nil
	}
	if err := ignoreMissing(f.root.Remove(blobPath(intent.Key, intent.Blob))); err != nil {
		return fileError(err)
	}
	f.pruneDirs(path.Dir(intent.Key))
	return nil
}
