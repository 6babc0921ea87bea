package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/internal/tracing"
	"telefuser/jobs"
	"telefuser/storage"
)

// createVideo answers POST /v1/videos.
func (s *Server) createVideo(c echo.Context) error {
	return s.create(c, bodyRule{files: []string{"input_reference"}}, s.draftVideo)
}

// create is the way of every request that makes a job: rate limit, body, checks, picture, record, answer. The record comes before
// anything that could fail and leave the client in doubt.
func (s *Server) create(c echo.Context, rule bodyRule, check func(context.Context, caller, *fields) (draft, error)) error {
	ctx, who := c.Request().Context(), callerOf(c)
	key, err := idempotencyKey(c.Request().Header)
	if err != nil {
		return err
	}
	if err := s.limitRate(c, who); err != nil {
		return err
	}
	f, err := s.decodeBody(c, rule)
	if err != nil {
		return err
	}
	defer f.close()
	d, err := check(ctx, who, f)
	f.close() // what it holds of the memory for bodies is for others now
	if err != nil {
		return err
	}
	d.spec.RequestID, d.spec.TraceParent = requestIDOf(c), tracing.Place(ctx)
	job, err := s.submit(ctx, d, jobs.CreateRequest{Tenant: who.tenant, KeyID: who.keyID, IdempotencyKey: key, Retry: isRetry(c.Request().Header)})
	if err != nil {
		return err
	}
	c.Set(jobIDKey, job.ID)
	return c.JSON(http.StatusOK, s.describeVideo(ctx, c, job))
}

// submit makes the job of a checked request, or finds the one that it made before.
func (s *Server) submit(ctx context.Context, d draft, request jobs.CreateRequest) (jobs.Job, error) {
	var err error
	if request.Fingerprint, err = d.fingerprint(); err != nil {
		return jobs.Job{}, err
	}
	request.ID = s.ids.New(time.Now())
	d.drawSeed()
	if d.picture != nil {
		d.spec.ImageKey = "inputs/" + request.ID + "/reference.png"
		request.StagedKeys = []string{d.spec.ImageKey}
		if err := s.storeStaged(ctx, d.spec.ImageKey, bytes.NewReader(d.picture), storage.PutOptions{ContentType: "image/png", SizeBytes: int64(len(d.picture))}); err != nil {
			return jobs.Job{}, err
		}
	}
	request.Spec = d.spec
	job, replayed, err := s.deps.Jobs.Create(ctx, request)
	if d.picture != nil && (replayed || err != nil && !errors.Is(err, jobs.ErrUnavailable) && !errors.Is(err, context.Canceled)) {
		s.discard(ctx, d.spec.ImageKey)
	}
	if err != nil {
		return jobs.Job{}, err
	}
	if replayed {
		s.metrics.replayed.Inc()
	} else {
		s.metrics.created.WithLabelValues(job.Spec.Pipeline, job.Spec.Task).Inc()
	}
	return job, nil
}

// storeStaged puts an object whose record does not exist yet. It is staged first, so that it is removed if the record never comes.
func (s *Server) storeStaged(ctx context.Context, key string, body io.Reader, o storage.PutOptions) error {
	stage := s.deps.Jobs.Stage
	if o.SizeBytes > imageBytesMax { // the minute that other objects have may be too short for it
		stage = func(ctx context.Context, keys ...string) error {
			return s.deps.Jobs.StageFor(ctx, s.cfg.UploadTimeout, keys...)
		}
	}
	if err := stage(ctx, key); err != nil {
		return err
	}
	_, err := s.deps.Store.Put(ctx, key, body, o)
	return err
}

// discard removes what no record came to own. Where that is not known, because the answer of Create was lost, the object is left to the
// reaper instead.
func (s *Server) discard(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := s.deps.Store.Delete(ctx, key); err == nil {
		_ = s.deps.Jobs.Unstage(ctx, key) // the reaper does it later otherwise
	}
}
