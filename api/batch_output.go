package api

import (
	"context"
	"encoding/json"
	"errors"

	"telefuser/jobs"
	"telefuser/openapi"
	"telefuser/storage"
)

// batchAnswer is one line of a batch's files.
type batchAnswer struct {
	ID       string         `json:"id"`
	CustomID string         `json:"custom_id"`
	Response *batchResponse `json:"response"`
	Error    *batchError    `json:"error"`
}

type batchResponse struct {
	StatusCode int    `json:"status_code"`
	RequestID  string `json:"request_id"`
	Body       any    `json:"body"`
}

type batchError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// batchFiles are the two files while they are written.
type batchFiles struct{ output, errors *spool }

func newBatchFiles(dir string) *batchFiles { return &batchFiles{newSpool(dir), newSpool(dir)} }

func (f *batchFiles) close() {
	_ = f.output.Close() // files without a name: there is nothing left to lose
	_ = f.errors.Close()
}

// add writes a line to the file that it belongs in.
func (f *batchFiles) add(answer batchAnswer, completed bool) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	file := f.errors
	if completed {
		file = f.output
	}
	_, err = file.Write(append(text, '\n'))
	return err
}

// writeBatch writes a line for every request: into the output where its video is complete, else into the errors. Lines that became no video say why. It counts anew, for the counts of a
// batch that was cut off may lack some.
func (s *Server) writeBatch(ctx context.Context, b *jobs.Batch, as jobs.BatchStatus, files *batchFiles) error {
	b.Completed, b.Failed = 0, 0
	err := s.eachBatchLine(ctx, *b, func(number int, line jobs.BatchLine) error {
		answer := batchAnswer{ID: batchRequestID(b.ID, number), CustomID: line.CustomID}
		completed := false
		if line.JobID == "" {
			answer.Response = &batchResponse{line.Status, answer.ID, line.Body}
		} else {
			job, err := s.deps.Jobs.Get(ctx, b.Tenant, line.JobID)
			switch {
			case errors.Is(err, jobs.ErrNotFound):
				answer.Error = &batchError{codeNotFound, "The video was deleted."}
			case err != nil:
				return err
			default:
				body := video(job)
				answer.Response = &batchResponse{200, answer.ID, body}
				completed = job.State == jobs.StateCompleted
				answer.Error = failedLine(body, as)
			}
		}
		if completed {
			b.Completed++
		} else {
			b.Failed++
		}
		return files.add(answer, completed)
	})
	if err != nil {
		return err
	}
	return s.restOfBatch(ctx, *b, func(number int, customID string) error {
		b.Failed++
		return files.add(batchAnswer{ID: batchRequestID(b.ID, number), CustomID: customID, Error: untouchedLine(as)}, false)
	})
}

// failedLine is why a video is no complete one; nil for one that is.
func failedLine(v openapi.Video, as jobs.BatchStatus) *batchError {
	switch {
	case v.Error == nil:
		return nil
	case v.Error.Code == jobs.CodeCancelled && as != jobs.BatchCompleted:
		return untouchedLine(as)
	}
	return &batchError{v.Error.Code, v.Error.Message}
}

// untouchedLine is why a line was not seen to its end.
func untouchedLine(as jobs.BatchStatus) *batchError {
	if as == jobs.BatchExpired {
		return &batchError{"batch_expired", "The batch's window was over before this request was done."}
	}
	if as == jobs.BatchCancelled {
		return &batchError{"batch_cancelled", "The batch was cancelled before this request was done."}
	}
	return &batchError{"batch_failed", "The batch ended before this request was done."}
}

// keepBatchFile stores one of the files and its record, unless an earlier round did. What one left that was cut off between the two is replaced.
func (s *Server) keepBatchFile(ctx context.Context, b jobs.Batch, id, name string, text *spool) error {
	if _, err := s.deps.Jobs.GetFile(ctx, b.Tenant, id); err == nil || !errors.Is(err, jobs.ErrNotFound) {
		return err
	}
	record := jobs.FileRecord{ID: id, Tenant: b.Tenant, Filename: name, Purpose: "batch_output", SizeBytes: text.size, SHA256: text.SHA256(),
		Key: "files/" + id + "/content", ContentType: "application/jsonl"}
	put := storage.PutOptions{SizeBytes: text.size, SHA256: record.SHA256}
	err := s.storeStaged(ctx, record.Key, text.Reader(), put)
	if errors.Is(err, storage.ErrExists) {
		if err = s.deps.Store.Delete(ctx, record.Key); err == nil {
			err = s.storeStaged(ctx, record.Key, text.Reader(), put)
		}
	}
	if err != nil {
		return err
	}
	_, err = s.deps.Jobs.PutFile(ctx, record)
	return err
}
