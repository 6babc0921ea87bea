package storage

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// ProbeStep is one right that the service needs of a store, and what came of using it.
type ProbeStep struct {
	// Name is put, get, range, list, delete or multipart.
	Name string
	// Err is nil when it works; it wraps an error of this room.
	Err error
	// Leftovers, of multipart, is how many unfinished uploads lie under our prefix, those that are under way among them.
	Leftovers int
}

const (
	probePrefix = "probe/"
	probeText   = "telefuser looks whether it may write here"
)

// Probe uses every right that the service needs, on an object of its own which it removes, and answers one step for each in the order of use. Steps that need the object are left out
// when it cannot be put. Unfinished uploads are counted where the driver has them.
func Probe(ctx context.Context, store Store) []ProbeStep {
	key := probePrefix + strings.ToLower(rand.Text())
	_, err := store.Put(ctx, key, strings.NewReader(probeText), PutOptions{ContentType: "text/plain", SizeBytes: int64(len(probeText))})
	steps := []ProbeStep{{Name: "put", Err: err}}
	// A refused put may have written the object all the same: with no right to read, it is never verified.
	if err == nil {
		steps = append(steps,
			ProbeStep{Name: "get", Err: readBack(ctx, store, key, 0, -1, probeText)},
			ProbeStep{Name: "range", Err: readBack(ctx, store, key, 10, 5, probeText[10:15])},
			ProbeStep{Name: "list", Err: listed(ctx, store, key)})
	}
	if removed := store.Delete(ctx, key); err == nil || removed != nil {
		steps = append(steps, ProbeStep{Name: "delete", Err: removed})
	}
	if s, ok := store.(*S3); ok {
		n, err := s.leftovers(ctx)
		steps = append(steps, ProbeStep{Name: "multipart", Err: err, Leftovers: n})
	}
	return steps
}

func readBack(ctx context.Context, store Store, key string, offset, length int64, want string) error {
	r, _, err := store.Open(ctx, key, offset, length)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(io.LimitReader(r, int64(len(probeText)+1)))
	if err == nil && string(got) != want {
		err = fmt.Errorf("storage: probe: other bytes came back: %w", ErrCorrupt)
	}
	return err
}

func listed(ctx context.Context, store Store, key string) error {
	found, err := store.List(ctx, key, "", 1)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("storage: probe: the list leaves an object out: %w", ErrUnavailable)
	}
	return err
}

// leftovers counts the unfinished uploads under our prefix, a page of them at most.
func (s *S3) leftovers(ctx context.Context) (int, error) {
	page, err := s.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &s.cfg.Bucket, Prefix: aws.String(s.cfg.Prefix)})
	if err != nil {
		return 0, fmt.Errorf("storage: list unfinished uploads: %w", s3Error(ctx, err))
	}
	return len(page.Uploads), nil
}
