package api

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
	"telefuser/storage"
)

// filePurposes are OpenAI's; all of them are kept alike.
func filePurposes() []string {
	return []string{"assistants", "batch", "fine-tune", "vision", "user_data", "evals"}
}

// createFile answers POST /v1/files.
func (s *Server) createFile(c echo.Context) error {
	ctx, who := c.Request().Context(), callerOf(c)
	if err := s.limitUpload(c, who); err != nil {
		return err
	}
	f, err := s.decodeBody(c, bodyRule{multipartOnly: true, files: []string{"file"}, batches: true})
	if err != nil {
		return err
	}
	defer f.close()
	purpose, file, err := takeFile(f)
	if err != nil {
		return err
	}
	id := jobs.NewFileID(time.Now())
	record := jobs.FileRecord{ID: id, Tenant: who.tenant, Filename: file.filename, Purpose: purpose, SizeBytes: file.size, SHA256: file.SHA256(),
		Key: "files/" + id + "/content", ContentType: http.DetectContentType(file.Head(512))}
	if record.Filename == "" {
		record.Filename = "upload"
	}
	// Whatever it is, it is kept and served as bytes: nothing of a client's may run in a browser on this origin.
	if err := s.storeStaged(ctx, record.Key, file.Reader(), storage.PutOptions{SizeBytes: file.size, SHA256: record.SHA256}); err != nil {
		return err
	}
	if record, err = s.deps.Jobs.PutFile(ctx, record); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, fileObject(record))
}

// takeFile takes both fields, and nothing else may be there.
func takeFile(f *fields) (string, *upload, error) {
	purpose, err := takeText(f, "purpose")
	if err != nil {
		return "", nil, err
	}
	if !slices.Contains(filePurposes(), purpose) {
		return "", nil, badRequest("purpose", codeInvalidValue, "purpose must be one of assistants, batch, fine-tune, vision, user_data and evals.")
	}
	value, given := f.take("file")
	if !given {
		return "", nil, badRequest("file", codeMissingParameter, "Missing required parameter: \"file\".")
	}
	file, isFile := value.(*upload)
	if !isFile {
		return "", nil, badRequest("file", codeInvalidType, "Invalid type for 'file': expected a file, but got "+kind(value)+" instead.")
	}
	if purpose != batchPurpose && file.size > imageBytesMax {
		return "", nil, fileTooLarge("file", imageBytesMax)
	}
	return purpose, file, refuseRest(f)
}

// listFiles answers GET /v1/files.
func (s *Server) listFiles(c echo.Context) error {
	q, err := pageQuery(c, filesLimitDefault, 1, filesLimitMax, jobs.ValidFileID)
	if err != nil {
		return err
	}
	query, err := queryOf(c, "purpose")
	if err != nil {
		return err
	}
	q.Limit = min(q.Limit, filesLimitDefault) // the store's pages; a pager goes on behind them
	list := openapi.FileList{Object: openapi.FileListObjectList, Data: []openapi.File{}}
	purpose := query.Get("purpose")
	// A page without a match must not say that there is more, or pagers end there; so it reads on until it has one.
	for more := true; more && len(list.Data) == 0; {
		var page []jobs.FileRecord
		if page, more, err = s.deps.Jobs.ListFiles(c.Request().Context(), callerOf(c).tenant, q); err != nil {
			return err
		}
		for _, record := range page {
			q.After = record.ID
			if purpose == "" || purpose == record.Purpose {
				list.Data = append(list.Data, fileObject(record))
			}
		}
		list.HasMore = more
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return c.JSON(http.StatusOK, list)
}

// getFile answers GET /v1/files/{file_id}.
func (s *Server) getFile(c echo.Context) error {
	record, err := s.ownFile(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, fileObject(record))
}

// downloadFile answers GET /v1/files/{file_id}/content.
func (s *Server) downloadFile(c echo.Context) error {
	record, err := s.ownFile(c)
	if err != nil {
		return err
	}
	return s.serveObject(c, record.Key, "application/octet-stream", disposition("attachment", record.Filename))
}

// deleteFile answers DELETE /v1/files/{file_id}.
func (s *Server) deleteFile(c echo.Context) error {
	ctx, id := c.Request().Context(), c.Param("file_id")
	if !jobs.ValidFileID(id) {
		return notFound("file_id", "file")
	}
	_, err := s.deps.Jobs.DeleteFile(ctx, callerOf(c).tenant, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return notFound("file_id", "file")
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, openapi.FileDeleted{ID: id, Object: openapi.FileDeletedObjectFile, Deleted: true})
}

// ownFile finds the caller's file of the path.
func (s *Server) ownFile(c echo.Context) (jobs.FileRecord, error) {
	id := c.Param("file_id")
	if !jobs.ValidFileID(id) {
		return jobs.FileRecord{}, notFound("file_id", "file")
	}
	record, err := s.deps.Jobs.GetFile(c.Request().Context(), callerOf(c).tenant, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return jobs.FileRecord{}, notFound("file_id", "file")
	}
	return record, err
}

func fileObject(r jobs.FileRecord) openapi.File {
	return openapi.File{ID: r.ID, Object: openapi.FileObjectFile, Bytes: r.SizeBytes, CreatedAt: r.CreatedAt.Unix(), Filename: r.Filename,
		Purpose: r.Purpose, Status: openapi.FileStatusProcessed}
}
