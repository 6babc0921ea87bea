package workers

import (
	"context"

	"telefuser/jobs"
	"telefuser/storage"
)

// Rebuilt counts what Rebuild did.
type Rebuilt struct {
	// Restored records came back, Present ones were there already, Skipped manifests could not be used.
	Restored, Present, Skipped int
}

// Rebuild walks the manifests in the store and brings back the records of the completed videos that have none.
func Rebuild(ctx context.Context, records *jobs.Store, objects storage.Store) (Rebuilt, error) {
	panic("later")
}
