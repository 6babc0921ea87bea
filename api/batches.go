package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
)

// The one kind of batch that there is.
const (
	batchEndpoint = "/v1/videos"
	batchWindow   = "24h"
	batchLife     = 24 * time.Hour
	batchPurpose  = "batch"
)

// createBatch answers POST /v1/batches. The file is looked into later, by whoever holds the batch.
func (s *Server) createBatch(c echo.Context) error {
	ctx, who := c.Request().Context(), callerOf(c)
	key, err := idempotencyKey(c.Request().Header)
	if err != nil {
		return err
	}
	if err := s.limitRate(c, who); err != nil {
		return err
	}
	f, err := s.decodeBody(c, bodyRule{})
	if err != nil {
		return err
	}
	defer f.close()
	b, err := draftBatch(f)
	if err != nil {
		return err
	}
	request := jobs.CreateBatchRequest{IdempotencyKey: key, Retry: isRetry(c.Request().Header)}
	if request.Fingerprint, err = digestOf(b); err != nil {
		return err
	}
	file, err := s.deps.Jobs.GetFile(ctx, who.tenant, b.InputFileID)
	if errors.Is(err, jobs.ErrNotFound) {
		return notFound("input_file_id", "file")
	}
	if err != nil {
		return err
	}
	if file.Purpose != batchPurpose {
		return badRequest("input_file_id", codeInvalidValue, "input_file_id must be a file of purpose batch.")
	}
	b.ID, b.Tenant, b.KeyID = jobs.NewBatchID(time.Now()), who.tenant, who.keyID
	request.Batch = b
	b, replayed, err := s.deps.Jobs.CreateBatch(ctx, request)
	if err != nil {
		return err
	}
	if !replayed {
		s.metrics.batches.WithLabelValues(string(jobs.BatchValidating)).Inc()
	}
	return c.JSON(http.StatusOK, batchObject(b))
}

// draftBatch takes the fields, and nothing else may be there.
func draftBatch(f *fields) (jobs.Batch, error) {
	var b jobs.Batch
	var err error
	for name, field := range map[string]*string{"input_file_id": &b.InputFileID, "endpoint": &b.Endpoint, "completion_window": &b.Window} {
		if *field, err = takeText(f, name); err != nil {
			return b, err
		}
		if *field == "" {
			return b, badRequest(name, codeMissingParameter, "Missing required parameter: "+quoteName(name)+".")
		}
	}
	if b.Endpoint != batchEndpoint {
		return b, badRequest("endpoint", codeInvalidValue, "endpoint must be /v1/videos.")
	}
	if b.Window != batchWindow {
		return b, badRequest("completion_window", codeInvalidValue, "completion_window must be 24h.")
	}
	if _, given := f.take("output_expires_after"); given {
		return b, badRequest("output_expires_after", codeUnsupported, "output_expires_after is not supported: files stay until they are deleted.")
	}
	if b.Metadata, err = takeMetadata(f); err != nil {
		return b, err
	}
	return b, refuseRest(f)
}

// listBatches answers GET /v1/batches.
func (s *Server) listBatches(c echo.Context) error {
	q, err := pageQuery(c, batchesLimitDefault, 1, batchesLimitMax, jobs.ValidBatchID)
	if err != nil {
		return err
	}
	page, more, err := s.deps.Jobs.ListBatches(c.Request().Context(), callerOf(c).tenant, q)
	if err != nil {
		return err
	}
	list := openapi.BatchList{Object: openapi.BatchListObjectList, Data: []openapi.Batch{}, HasMore: more}
	for _, b := range page {
		list.Data = append(list.Data, batchObject(b))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return c.JSON(http.StatusOK, list)
}

// getBatch answers GET /v1/batches/{batch_id}.
func (s *Server) getBatch(c echo.Context) error {
	b, err := s.deps.Jobs.GetBatch(c.Request().Context(), callerOf(c).tenant, c.Param("batch_id"))
	return answerBatch(c, b, err)
}

// cancelBatch answers POST /v1/batches/{batch_id}/cancel. The jobs end a little later, and the files are written then.
func (s *Server) cancelBatch(c echo.Context) error {
	b, err := s.deps.Jobs.CancelBatch(c.Request().Context(), callerOf(c).tenant, c.Param("batch_id"))
	if errors.Is(err, jobs.ErrTerminal) {
		return &problem{status: http.StatusConflict, typ: typeInvalidRequest, code: codeBatchEnded, param: "batch_id", message: "The batch has ended, or is about to.", noRetry: true}
	}
	return answerBatch(c, b, err)
}

func answerBatch(c echo.Context, b jobs.Batch, err error) error {
	if errors.Is(err, jobs.ErrNotFound) {
		return notFound("batch_id", "batch")
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, batchObject(b))
}

// batchObject makes the wire object, with every key that OpenAI's has.
func batchObject(b jobs.Batch) openapi.Batch {
	expires := b.CreatedAt.Add(batchLife).Unix()
	out := openapi.Batch{
		ID: b.ID, Object: openapi.BatchObjectBatch, Endpoint: b.Endpoint, InputFileID: b.InputFileID, CompletionWindow: b.Window, Status: openapi.BatchStatus(b.Status),
		OutputFileID: orNull(b.OutputFileID), ErrorFileID: orNull(b.ErrorFileID), CreatedAt: b.CreatedAt.Unix(), ExpiresAt: &expires,
		InProgressAt: unixOrNull(b.StartedAt), FinalizingAt: unixOrNull(b.FinalizedAt), CancellingAt: unixOrNull(b.CancellingAt),
		RequestCounts: openapi.BatchRequestCounts{Total: b.Total, Completed: b.Completed, Failed: b.Failed},
	}
	if !b.Status.Ended() { // the files are named before they are there
		out.OutputFileID, out.ErrorFileID = nil, nil
	}
	if len(b.Metadata) > 0 {
		metadata := openapi.Metadata(b.Metadata)
		out.Metadata = &metadata
	}
	if len(b.Errors) > 0 {
		list := openapi.BatchErrors{Object: openapi.BatchErrorsObjectList}
		for _, e := range b.Errors {
			row := openapi.BatchError{Code: e.Code, Message: e.Message, Param: orNull(e.Param)}
			if e.Line > 0 {
				row.Line = &e.Line
			}
			list.Data = append(list.Data, row)
		}
		out.Errors = &list
	}
	for status, at := range map[jobs.BatchStatus]**int64{jobs.BatchCompleted: &out.CompletedAt, jobs.BatchFailed: &out.FailedAt, jobs.BatchExpired: &out.ExpiredAt, jobs.BatchCancelled: &out.CancelledAt} {
		if b.Status == status {
			*at = unixOrNull(b.EndedAt)
		}
	}
	return out
}
