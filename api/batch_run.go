package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"

	"telefuser/jobs"
	"telefuser/openapi"
)

// How batches are worked on.
const (
	// batchLookEvery is the pause between two looks for a batch that is due, batchPause that between two rounds of one, batchFullPause that after the queue took no more.
	batchLookEvery = time.Second
	batchPause     = time.Second
	batchFullPause = 5 * time.Second
	// batchOpenMax is how many videos of one batch wait or run at a time, batchSaveEvery how many lines become videos before that is written down.
	batchOpenMax   = 500
	batchSaveEvery = 25
	batchRoundMax  = 10 * time.Second
)

// runBatches works on the batches of all tenants until ctx ends. Every API process does; a lease gives each batch one of them at a time.
func (s *Server) runBatches(ctx context.Context) {
	ticker := time.NewTicker(batchLookEvery)
	defer ticker.Stop()
	for {
		worked, err := s.batchRound(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "batch: a round ended early", "error", err)
		}
		if worked && err == nil && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// batchRound takes the batch that is due and moves it on a bit; false when none was due.
func (s *Server) batchRound(ctx context.Context) (worked bool, err error) {
	b, taken, err := s.deps.Jobs.TakeBatch(ctx)
	if err != nil || !taken {
		return false, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func(held jobs.Batch) { // as it was taken: the round changes its own
		defer close(kept)
		s.keepBatch(ctx, held, stop)
	}(b)
	err = s.advanceBatch(ctx, &b)
	stop(nil)
	<-kept
	if errors.Is(err, jobs.ErrStale) || errors.Is(context.Cause(ctx), jobs.ErrStale) {
		return true, nil // it was cancelled, or is somebody else's
	}
	return true, err
}

// keepBatch renews the lease, and stops the round of a batch that is lost. What a round has moved to another status needs no renewal by then: it is nearly over.
func (s *Server) keepBatch(ctx context.Context, b jobs.Batch, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(jobs.BatchLease / 5)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := s.deps.Jobs.KeepBatch(ctx, b); errors.Is(err, jobs.ErrStale) {
				stop(err)
			}
		}
	}
}

// advanceBatch does what a batch's status asks for.
func (s *Server) advanceBatch(ctx context.Context, b *jobs.Batch) error {
	switch b.Status {
	case jobs.BatchValidating:
		total, wrong, err := s.checkBatch(ctx, *b)
		if err != nil {
			return err
		}
		if len(wrong) > 0 {
			b.Errors, b.EndedAt = wrong, b.Now
			return s.moveBatch(ctx, b, jobs.BatchFailed)
		}
		b.Total, b.StartedAt = total, b.Now
		return s.moveBatch(ctx, b, jobs.BatchInProgress)
	case jobs.BatchInProgress:
		if err := s.settleBatch(ctx, b); err != nil {
			return err
		}
		switch {
		case b.Now.Sub(b.CreatedAt) >= batchLife:
			return s.endBatch(ctx, b, jobs.BatchExpired)
		case b.NextLine == b.Total && len(b.Open) == 0:
			b.FinalizedAt = b.Now
			return s.moveBatch(ctx, b, jobs.BatchFinalizing)
		}
		return s.submitBatch(ctx, b)
	case jobs.BatchFinalizing:
		return s.endBatch(ctx, b, jobs.BatchCompleted)
	case jobs.BatchCancelling:
		return s.endBatch(ctx, b, jobs.BatchCancelled)
	case jobs.BatchCompleted, jobs.BatchFailed, jobs.BatchExpired, jobs.BatchCancelled: // ended, and due no more
	}
	return nil
}

// moveBatch writes a batch down under its next status, and counts that.
func (s *Server) moveBatch(ctx context.Context, b *jobs.Batch, to jobs.BatchStatus) error {
	if err := s.deps.Jobs.SaveBatch(ctx, b, to, nil, 0); err != nil {
		return err
	}
	s.metrics.batches.WithLabelValues(string(to)).Inc()
	return nil
}

// settleBatch counts the videos that have ended since the last round.
func (s *Server) settleBatch(ctx context.Context, b *jobs.Batch) error {
	for line, id := range maps.Clone(b.Open) {
		job, err := s.deps.Jobs.Get(ctx, b.Tenant, id)
		switch {
		case errors.Is(err, jobs.ErrNotFound): // its user deleted it
			b.Failed++
		case err != nil:
			return err
		case !job.State.Terminal():
			continue
		case job.State == jobs.StateCompleted:
			b.Completed++
		default:
			b.Failed++
		}
		delete(b.Open, line)
	}
	return nil
}

// submitBatch makes videos of the next lines, as many as may be open and the queue takes, and leaves the batch for the next round.
func (s *Server) submitBatch(ctx context.Context, b *jobs.Batch) error {
	r, err := s.openBatch(ctx, *b, b.NextLine, b.NextByte)
	if errors.Is(err, jobs.ErrNotFound) {
		b.Errors = []jobs.BatchError{{Code: "input_file_missing", Message: "The input file was deleted while the batch ran.", Param: "input_file_id"}}
		return s.endBatch(ctx, b, jobs.BatchFailed)
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if b.Open == nil {
		b.Open = map[int]string{}
	}
	news := map[int]jobs.BatchLine{}
	pause := batchPause
	for begun := time.Now(); b.NextLine < b.Total && len(b.Open) < batchOpenMax && time.Since(begun) < batchRoundMax && ctx.Err() == nil; {
		text, err := r.next()
		if err != nil {
			return err
		}
		if err := s.deps.Jobs.KeepBatch(ctx, *b); err != nil {
			return err
		}
		line, full, err := s.submitLine(ctx, *b, text)
		if err != nil {
			return err
		}
		if full {
			s.metrics.lines.WithLabelValues("waited").Inc()
			pause = batchFullPause
			break
		}
		news[b.NextLine] = line
		if line.JobID != "" {
			s.metrics.lines.WithLabelValues("accepted").Inc()
			b.Open[b.NextLine] = line.JobID
		} else {
			s.metrics.lines.WithLabelValues("refused").Inc()
			b.Failed++
		}
		b.NextLine, b.NextByte = r.line, r.at
		if len(news) == batchSaveEvery {
			if err := s.deps.Jobs.SaveBatch(ctx, b, b.Status, news, -1); err != nil {
				return err
			}
			clear(news)
		}
	}
	return s.deps.Jobs.SaveBatch(ctx, b, b.Status, news, pause)
}

// submitLine makes the video of one line; full is true when the service takes no more at the moment. The line's own number keeps a batch that goes on after a crash from making it twice.
func (s *Server) submitLine(ctx context.Context, b jobs.Batch, text []byte) (line jobs.BatchLine, full bool, err error) {
	f := &fields{}
	defer f.close()
	if err := s.holdLine(ctx, f, text); err != nil {
		return line, false, err
	}
	request, bad := parseBatchLine(text)
	if bad != nil {
		return line, false, errors.New("api: batch " + b.ID + ": its file has changed")
	}
	line.CustomID = request.customID
	_, ranked := request.body["priority"]
	f.values = request.body
	d, err := s.draftVideo(ctx, caller{tenant: b.Tenant, keyID: b.KeyID}, f)
	f.close()
	if err == nil {
		if !ranked {
			d.spec.Priority = jobs.PriorityLow // what somebody waits for goes first
		}
		d.spec.RequestID = batchRequestID(b.ID, b.NextLine)
		var job jobs.Job
		job, err = s.submit(ctx, d, jobs.CreateRequest{Tenant: b.Tenant, KeyID: b.KeyID, IdempotencyKey: d.spec.RequestID})
		line.JobID = job.ID
	}
	if err == nil {
		return line, false, nil
	}
	p := toProblem(err)
	if p.status >= 500 || p.status == statusClientGone || p.status == http.StatusTooManyRequests && !p.noRetry {
		return line, true, context.Cause(ctx)
	}
	line.Status = p.status
	line.Body, err = json.Marshal(openapi.Error{Error: openapi.ErrorBody{Message: p.message, Type: p.typ, Param: orNull(p.param), Code: orNull(p.code)}})
	return line, false, err
}

// batchRequestID names one line of a batch.
func batchRequestID(batch string, line int) string {
	return "batch_req_" + batch[len("batch_"):] + "_" + strconv.Itoa(line)
}

// endBatch cancels what is still open, writes the files, and ends the batch.
func (s *Server) endBatch(ctx context.Context, b *jobs.Batch, as jobs.BatchStatus) error {
	records := s.deps.Jobs
	if err := s.cancelOpen(ctx, *b); err != nil {
		return err
	}
	if err := s.settleBatch(ctx, b); err != nil {
		return err
	}
	if b.OutputFileID == "" { // named before they are written, so that a crash leaves nothing without a name
		b.OutputFileID, b.ErrorFileID = jobs.NewFileID(time.Now()), jobs.NewFileID(time.Now())
		if b.FinalizedAt.IsZero() {
			b.FinalizedAt = b.Now
		}
		if err := records.SaveBatch(ctx, b, b.Status, nil, -1); err != nil {
			return err
		}
	}
	files := newBatchFiles(s.cfg.TempDir)
	defer files.close()
	if err := s.writeBatch(ctx, b, as, files); err != nil {
		return err
	}
	for _, file := range []struct {
		id   *string
		name string
		text *spool
	}{{&b.OutputFileID, "output", files.output}, {&b.ErrorFileID, "errors", files.errors}} {
		if file.text.size == 0 {
			*file.id = ""
			continue
		}
		if err := s.keepBatchFile(ctx, *b, *file.id, b.ID+"_"+file.name+".jsonl", file.text); err != nil {
			return err
		}
	}
	b.EndedAt, b.Open = b.Now, nil
	return s.moveBatch(ctx, b, as)
}

// cancelOpen cancels the videos of a batch that have not ended, those included that were made just before their holder was lost, and so are not written down.
func (s *Server) cancelOpen(ctx context.Context, b jobs.Batch) error {
	var ids []string
	for _, id := range b.Open {
		ids = append(ids, id)
	}
	for line := b.NextLine; line < min(b.Total, b.NextLine+batchSaveEvery+1); line++ {
		id, err := s.deps.Jobs.OfKey(ctx, b.Tenant, batchRequestID(b.ID, line))
		if err != nil {
			return err
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if _, err := s.deps.Jobs.Cancel(ctx, b.Tenant, id); err != nil && !errors.Is(err, jobs.ErrTerminal) && !errors.Is(err, jobs.ErrNotFound) {
			return err
		}
	}
	return nil
}

var errBatchLines = errors.New("api: batch: its lines are not all there")

// eachBatchLine gives the lines that became something, in their order.
func (s *Server) eachBatchLine(ctx context.Context, b jobs.Batch, do func(number int, line jobs.BatchLine) error) error {
	const page = 500
	for from := 0; from < b.NextLine; from += page {
		lines, err := s.deps.Jobs.BatchLines(ctx, b.ID, from, min(page, b.NextLine-from))
		if err != nil {
			return err
		}
		for i, line := range lines {
			if line.CustomID == "" {
				return errBatchLines
			}
			if err := do(from+i, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// restOfBatch gives the custom ids of the lines that became nothing. A file that is gone has none.
func (s *Server) restOfBatch(ctx context.Context, b jobs.Batch, do func(number int, customID string) error) error {
	if b.NextLine >= b.Total {
		return nil
	}
	r, err := s.openBatch(ctx, b, b.NextLine, b.NextByte)
	if errors.Is(err, jobs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for {
		number := r.line
		text, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if request, bad := parseBatchLine(text); bad == nil {
			if err := do(number, request.customID); err != nil {
				return err
			}
		}
	}
}
