package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"telefuser/jobs"
	"telefuser/storage"
)

// Rebuilt counts what Rebuild did.
type Rebuilt struct {
	// Restored records came back, Present ones were there already, Skipped manifests could not be used.
	Restored, Present, Skipped int
}

// manifestBytesMax bounds a manifest; a camera and a state of a megabyte each fit.
const manifestBytesMax = 8 << 20

// Rebuild walks the manifests in the store and brings back the records of the completed videos that have none. A video whose file is
// gone is skipped; of several attempts the newest with a file counts. A job that was deleted has no manifest and stays away.
func Rebuild(ctx context.Context, records *jobs.Store, objects storage.Store) (Rebuilt, error) {
	r := rebuild{records: records, objects: objects}
	after := ""
	for {
		page, err := objects.List(ctx, videosPrefix, after, storage.ListLimitMax)
		if err != nil {
			return r.count, fmt.Errorf("workers: rebuild: %w", err)
		}
		for _, object := range page {
			if err := r.look(ctx, object.Key); err != nil {
				return r.count, fmt.Errorf("workers: rebuild: %w", err)
			}
		}
		if len(page) < storage.ListLimitMax {
			return r.count, r.finish(ctx)
		}
		after = page[len(page)-1].Key
	}
}

// recordMaker is what a rebuild needs of the records.
type recordMaker interface {
	Rebuild(ctx context.Context, m jobs.RecordManifest) (created bool, err error)
}

type rebuild struct {
	records recordMaker
	objects storage.Store
	count   Rebuilt
	// best is the newest usable manifest of the job that the walk is at; the keys of a job come together.
	best *Manifest
}

// look takes in one key.
func (r *rebuild) look(ctx context.Context, key string) error {
	id, attempt, ok := parseManifestKey(key)
	if !ok {
		return nil
	}
	if r.best != nil && r.best.ID != id {
		if err := r.finish(ctx); err != nil {
			return err
		}
	}
	m, err := r.read(ctx, key)
	switch {
	case errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil:
		return err
	case err != nil || m.ID != id || m.Attempt != attempt:
		r.count.Skipped++
	case r.best == nil || m.Attempt > r.best.Attempt:
		r.best = m
	}
	return nil
}

// read fetches a manifest and checks that its video is there.
func (r *rebuild) read(ctx context.Context, key string) (*Manifest, error) {
	body, _, err := r.objects.Open(ctx, key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer body.Close() // it was only read
	raw, err := io.ReadAll(io.LimitReader(body, manifestBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > manifestBytesMax {
		return nil, fmt.Errorf("manifest of more than %d bytes", manifestBytesMax)
	}
	var m Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	if m.Schema != manifestSchema {
		return nil, fmt.Errorf("manifest of schema %d", m.Schema)
	}
	object, err := r.objects.Stat(ctx, m.Result.VideoKey)
	if err == nil && object.SizeBytes != m.Result.SizeBytes {
		err = storage.ErrCorrupt
	}
	return &m, err
}

// finish brings back the job that the walk has left behind.
func (r *rebuild) finish(ctx context.Context) error {
	if r.best == nil {
		return nil
	}
	m := r.best
	r.best = nil
	created, err := r.records.Rebuild(ctx, m.RecordManifest)
	switch {
	case errors.Is(err, jobs.ErrInvalid):
		r.count.Skipped++
	case err != nil:
		return err
	case created:
		r.count.Restored++
	default:
		r.count.Present++
	}
	return nil
}
