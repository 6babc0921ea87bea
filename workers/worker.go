package workers

import (
	"context"

	"telefuser/jobs"
	"telefuser/storage"
)

// Worker takes the jobs of one pipeline and runs them on its engines.
type Worker struct {
	cfg     Config
	jobs    *jobs.Store
	objects storage.Store
}

// New prepares a worker. Nothing is started before Run.
func New(cfg Config, records *jobs.Store, objects storage.Store) (*Worker, error) { panic("later") }

// Run checks the encoder, loads the engines, and takes jobs until ctx ends. Then it takes no more, gives the running ones Grace to
// finish, hands the rest back uncharged, and answers nil when all engines are gone.
func (w *Worker) Run(ctx context.Context) error { panic("later") }

// Ready says whether an engine is loaded and jobs are being taken, and why not.
func (w *Worker) Ready() error { panic("later") }
