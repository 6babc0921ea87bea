package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"

	"telefuser/jobs"
)

// The limits of a batch's file.
const (
	batchLinesMax     = 50_000
	batchLineBytesMax = jsonBytesMax
	batchErrorsMax    = 100
	customIDBytesMax  = 512
)

// batchReader reads the lines of a batch's file from a place on. Empty lines are no lines.
type batchReader struct {
	file *bufio.Reader
	io.Closer
	// line counts the lines before the next one, at is its place in bytes, and file lines counts empty ones too.
	line, fileLine int
	at             int64
}

func (s *Server) openBatch(ctx context.Context, b jobs.Batch, line int, at int64) (*batchReader, error) {
	file, err := s.deps.Jobs.GetFile(ctx, b.Tenant, b.InputFileID)
	if err != nil {
		return nil, err
	}
	if at >= file.SizeBytes {
		return &batchReader{file: bufio.NewReader(bytes.NewReader(nil)), Closer: io.NopCloser(nil), line: line, at: at}, nil
	}
	body, _, err := s.deps.Store.Open(ctx, file.Key, at, -1)
	if err != nil {
		return nil, err
	}
	return &batchReader{file: bufio.NewReaderSize(body, 64<<10), Closer: body, line: line, at: at}, nil
}

// next answers the next line that is not empty, io.EOF behind the last. Of a line that is too long it answers its first batchLineBytesMax bytes and one more.
func (r *batchReader) next() ([]byte, error) {
	for {
		text, size, err := r.readLine()
		if size == 0 || err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.at += size
		r.fileLine++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			r.line++
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readLine reads a line with its end, and counts its bytes, of which it keeps no more than are needed to see that they are too many.
func (r *batchReader) readLine() (text []byte, size int64, err error) {
	for {
		piece, err := r.file.ReadSlice('\n')
		size += int64(len(piece))
		text = append(text, piece[:min(len(piece), batchLineBytesMax+1-len(text))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, size, err
		}
	}
}

// holdLine waits for the memory that a long line takes when it is decoded, and keeps it until the fields are closed.
func (s *Server) holdLine(ctx context.Context, f *fields, text []byte) error {
	if len(text) <= jsonPlainBytesMax {
		return nil
	}
	return s.hold(ctx, f, int64(min(len(text), batchLineBytesMax)))
}

// batchRequest is one line: a create of the caller's own naming.
type batchRequest struct {
	customID string
	body     map[string]any
}

// parseBatchLine reads one line; what it answers in place of it is for the batch's errors.
func parseBatchLine(text []byte) (batchRequest, *jobs.BatchError) {
	if len(text) > batchLineBytesMax {
		return batchRequest{}, &jobs.BatchError{Code: "line_too_long", Message: "A line must have at most " + strconv.Itoa(batchLineBytesMax) + " bytes."}
	}
	value, err := decodeJSON(text)
	object, isObject := value.(map[string]any)
	if err != nil || !isObject {
		return batchRequest{}, &jobs.BatchError{Code: "invalid_json_line", Message: "This line is not acceptable JSON of an object."}
	}
	customID, _ := object["custom_id"].(string)
	body, isBody := object["body"].(map[string]any)
	wrong := func(code, param, message string) (batchRequest, *jobs.BatchError) {
		return batchRequest{}, &jobs.BatchError{Code: code, Param: param, Message: message}
	}
	switch {
	case customID == "" || len(customID) > customIDBytesMax:
		return wrong(codeMissingParameter, "custom_id", "custom_id must be text of 1 to 512 bytes.")
	case object["method"] != "POST":
		return wrong("invalid_method", "method", "method must be POST.")
	case object["url"] != batchEndpoint:
		return wrong("invalid_url", "url", "url must be /v1/videos, the endpoint of the batch.")
	case !isBody:
		return wrong(codeMissingParameter, "body", "body must be an object.")
	}
	for name := range object {
		if name != "custom_id" && name != "method" && name != "url" && name != "body" {
			return wrong(codeUnknownParameter, shown(name), "A line has custom_id, method, url and body.")
		}
	}
	return batchRequest{customID: customID, body: body}, nil
}

// checkBatch reads the whole file and answers the number of its lines, or what is wrong with it.
func (s *Server) checkBatch(ctx context.Context, b jobs.Batch) (total int, wrong []jobs.BatchError, err error) {
	r, err := s.openBatch(ctx, b, 0, 0)
	if errors.Is(err, jobs.ErrNotFound) {
		return 0, []jobs.BatchError{{Code: "input_file_missing", Message: "The input file is not there any more.", Param: "input_file_id"}}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = r.Close() }()
	seen := map[string]bool{}
	for len(wrong) < batchErrorsMax && r.line <= batchLinesMax && ctx.Err() == nil {
		text, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, nil, err
		}
		f := &fields{}
		if err := s.holdLine(ctx, f, text); err != nil {
			return 0, nil, err
		}
		request, bad := parseBatchLine(text)
		f.close()
		if bad == nil && seen[request.customID] {
			bad = &jobs.BatchError{Code: "duplicate_custom_id", Param: "custom_id", Message: "This custom_id stands on an earlier line too."}
		}
		if bad != nil {
			bad.Line = r.fileLine
			wrong = append(wrong, *bad)
			continue
		}
		seen[request.customID] = true
	}
	switch {
	case r.line == 0:
		wrong = append(wrong, jobs.BatchError{Code: "empty_file", Message: "The file has no lines."})
	case r.line > batchLinesMax:
		wrong = append(wrong, jobs.BatchError{Code: "too_many_lines", Message: "The file has more than 50,000 lines."})
	}
	return r.line, wrong, context.Cause(ctx)
}
