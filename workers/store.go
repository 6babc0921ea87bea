package workers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"telefuser/jobs"
	"telefuser/storage"
)

const (
	// storePauseMin and storePauseMax bound the pause between two tries; it doubles.
	storePauseMin = 200 * time.Millisecond
	storePauseMax = 20 * time.Second
	// discardTimeout bounds the removal of own objects; what stays is garbage to the janitor.
	discardTimeout = 20 * time.Second
)

// upload is one object to store.
type upload struct {
	name        string
	contentType string
	open        func() (io.ReadCloser, error)
	size        int64
	sha256      string
}

// store puts the film and what belongs to it under the attempt's own keys, the manifest last.
func (a *attempt) store(ctx context.Context, f film) (jobs.Result, error) {
	started := time.Now()
	a.claim.Progress(percentStoring, phaseStoring)
	key := func(name string) string { return objectKey(a.claim.ID, a.claim.Attempt, name) }
	a.put = []string{key(manifestName), key(videoName), key(thumbnailName), key(spritesheetName)}
	if err := a.claim.StageKeys(ctx, a.put...); err != nil {
		return jobs.Result{}, err
	}
	uploads := []upload{
		{videoName, "video/mp4", func() (io.ReadCloser, error) { return os.Open(f.path) }, f.info.SizeBytes, f.info.SHA256},
		uploadBytes(thumbnailName, "image/webp", f.thumbnail),
		uploadBytes(spritesheetName, "image/jpeg", f.spritesheet),
	}
	objects := map[string]ManifestObject{}
	for i, u := range uploads {
		if err := a.putOne(ctx, key(u.name), u); err != nil {
			return jobs.Result{}, err
		}
		if i == 0 {
			a.worker.pass(PointUploading)
		}
		objects[u.name] = ManifestObject{Key: key(u.name), SizeBytes: u.size, SHA256: u.sha256}
	}
	a.facts.StoreNS = nanoseconds(time.Since(started))
	result := jobs.Result{
		VideoKey: key(videoName), ThumbnailKey: key(thumbnailName), SpritesheetKey: key(spritesheetName), ManifestKey: key(manifestName),
		SizeBytes: f.info.SizeBytes, SHA256: f.info.SHA256, Frames: f.info.Frames, Seconds: a.spec.Seconds, State: f.state, Facts: a.facts,
	}
	raw, err := json.Marshal(a.manifest(result, objects))
	if err != nil {
		return jobs.Result{}, fmt.Errorf("workers: manifest: %w", err)
	}
	return result, a.putOne(ctx, key(manifestName), uploadBytes(manifestName, "application/json", raw))
}

func uploadBytes(name, contentType string, data []byte) upload {
	sum := sha256.Sum256(data)
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return upload{name, contentType, open, int64(len(data)), hex.EncodeToString(sum[:])}
}

// putOne stores an object, however often that takes within the budget. The local file is kept meanwhile: nothing is generated twice
// because of the store.
func (a *attempt) putOne(ctx context.Context, key string, u upload) error {
	return a.retryStore(ctx, "put "+u.name, func(ctx context.Context) error {
		body, err := u.open()
		if err != nil {
			return err
		}
		defer body.Close() // it was only read
		_, err = a.worker.objects.Put(ctx, key, body, storage.PutOptions{ContentType: u.contentType, SizeBytes: u.size, SHA256: u.sha256})
		if errors.Is(err, storage.ErrExists) {
			return a.sameObject(ctx, key, u)
		}
		return err
	})
}

// sameObject answers nil when an earlier try has stored the object and only its answer was lost.
func (a *attempt) sameObject(ctx context.Context, key string, u upload) error {
	object, err := a.worker.objects.Stat(ctx, key)
	if err != nil {
		return err
	}
	if object.SizeBytes != u.size || object.SHA256 != u.sha256 {
		return fmt.Errorf("workers: %s: another object is there", u.name)
	}
	return nil
}

// retryStore repeats a call to the store while that may help and the budget lasts.
func (a *attempt) retryStore(ctx context.Context, what string, call func(context.Context) error) error {
	started := time.Now()
	for pause := storePauseMin; ; pause = min(2*pause, storePauseMax) {
		err := call(ctx)
		again := errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrCorrupt)
		if err == nil || !again || ctx.Err() != nil || time.Since(started)+pause > a.worker.cfg.UploadBudget {
			return err
		}
		a.worker.metrics.retries.WithLabelValues(a.spec.Pipeline).Inc()
		a.log.Warn("the store does not answer; trying again", "call", what, "pause", pause, "error", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// discard removes what the attempt has stored, after it lost its job. The manifest goes first: without it nothing is brought back.
func (a *attempt) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	for _, key := range a.put {
		if err := a.worker.objects.Delete(ctx, key); err != nil {
			a.log.Warn("own object stays for the janitor", "error", err)
		}
	}
}
