package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// List walks the folders in the order of the keys and goes only where an answer can lie.
func (f *File) List(ctx context.Context, prefix, after string, limit int) ([]Object, error) {
	if err := validateList(prefix, after, limit); err != nil {
		return nil, err
	}
	l := lister{store: f, prefix: prefix, after: after, limit: limit}
	if err := l.walk(ctx, ""); err != nil {
		return nil, fmt.Errorf("storage: list %s: %w", prefix, err)
	}
	return l.found, nil
}

func validateList(prefix, after string, limit int) error {
	if limit < 1 || limit > ListLimitMax {
		return fmt.Errorf("storage: list: limit %d is not in 1..%d", limit, ListLimitMax)
	}
	return errors.Join(validateKeyBytes(prefix), validateKeyBytes(after))
}

type lister struct {
	store         *File
	prefix, after string
	limit         int
	found         []Object
}

// walk lists one folder; dir is "" or ends in a slash. Sorting the sub-folders with their slash gives the order of the whole keys.
func (l *lister) walk(ctx context.Context, dir string) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	names, err := l.names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if len(l.found) == l.limit {
			return nil
		}
		key := dir + name
		if strings.HasSuffix(name, "/") {
			err = l.walkInto(ctx, key)
		} else {
			err = l.add(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walkInto skips a folder when all of its keys lie outside of the prefix or before the cursor.
func (l *lister) walkInto(ctx context.Context, dir string) error {
	if !strings.HasPrefix(dir, l.prefix) && !strings.HasPrefix(l.prefix, dir) {
		return nil
	}
	if l.after > dir && !strings.HasPrefix(l.after, dir) {
		return nil
	}
	return l.walk(ctx, dir)
}

func (l *lister) add(key string) error {
	if !strings.HasPrefix(key, l.prefix) || key <= l.after {
		return nil
	}
	rec, err := l.store.readRecord(recordPath(key))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	l.found = append(l.found, rec.object())
	return nil
}

// names lists the base names of objects, and sub-folders with a slash, in byte order.
func (l *lister) names(dir string) ([]string, error) {
	folder, err := l.store.root.Open(path.Clean("./" + dir))
	if err != nil {
		return nil, fileError(ignoreMissing(err))
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return nil, fileError(ignoreMissing(err)) // a folder that goes while it is read held nothing to list
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "@"):
			names = append(names, name[1:])
		case e.IsDir() && !strings.HasPrefix(name, "."):
			names = append(names, name+"/")
		}
	}
	slices.Sort(names)
	return names, nil
}
