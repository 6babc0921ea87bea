package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/storage"
)

// serveObject streams an object of the store with ranges, conditions and HEAD. It never compresses, and never answers 200 before it
// knows that the object is there.
func (s *Server) serveObject(c echo.Context, key, contentType, disposition string) error {
	ctx, request := c.Request().Context(), c.Request()
	object, err := s.deps.Store.Stat(ctx, key)
	if err != nil {
		return err
	}
	if ignoredRange(request.Header.Get("Range")) {
		request.Header.Del("Range")
	}
	wanted, header := request.Header.Get("Range"), c.Response().Header()
	body := &objectReader{ctx: ctx, store: s.deps.Store, key: key, size: object.SizeBytes, end: rangeEnd(wanted, object.SizeBytes)}
	defer func() { _ = body.Close() }()
	if emptyRange.MatchString(wanted) {
		header.Set("Content-Range", "bytes */"+strconv.FormatInt(object.SizeBytes, 10))
		return refusedContent(http.StatusRequestedRangeNotSatisfiable)
	}
	if request.Method == http.MethodGet && wanted == "" && object.SizeBytes > 0 {
		if err := body.reopen(); err != nil { // while the answer can still be another one
			return err
		}
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Disposition", disposition)
	header.Set("Cache-Control", "private, no-cache")
	if object.ETag != "" {
		header.Set("ETag", object.ETag)
	}
	w := &downloadWriter{ResponseWriter: c.Response(), conn: http.NewResponseController(c.Response()), stall: s.cfg.StallTimeout}
	http.ServeContent(w, request, "", object.ModifiedAt, body)
	if w.refused != 0 {
		return refusedContent(w.refused)
	}
	return nil
}

// ignoredRange tells the ranges that RFC 9110 wants ignored, those of another unit than bytes, and those that it allows to be: so many that the whole
// file is cheaper than the looks into the store.
func ignoredRange(header string) bool {
	unit, _, found := strings.Cut(header, "=")
	return found && !strings.EqualFold(strings.TrimSpace(unit), "bytes") || strings.Count(header, ",") >= rangesMax
}

// refusedContent is the envelope of what ServeContent would have answered in plain text.
func refusedContent(status int) *problem {
	p := &problem{status: status, typ: typeInvalidRequest, code: codeInvalidValue, param: "Range", message: "The range is not within the file."}
	if status == http.StatusPreconditionFailed {
		p.param, p.message = "", "A precondition of the request does not hold."
	}
	return p
}

// disposition names the file for saving; a name that is not plain ASCII is given the way of RFC 8187.
func disposition(kind, filename string) string {
	if filename == "" {
		return kind
	}
	plain := strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, filename)
	return kind + `; filename="` + plain + `"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(filename), "+", "%20")
}

// emptyRange is the suffix of no bytes, which RFC 9110 calls not satisfiable and ServeContent answers with a range that ends before it begins.
var emptyRange = regexp.MustCompile(`^bytes=\s*-0+$`)

var simpleRange = regexp.MustCompile(`^bytes=([0-9]{1,18})-([0-9]{1,18})$`)

// rangeEnd is where reading will end for the usual single range, so that no more is asked of the store; the object's end otherwise.
func rangeEnd(header string, size int64) int64 {
	m := simpleRange.FindStringSubmatch(header)
	if m == nil {
		return size
	}
	last, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil || last >= size {
		return size
	}
	return last + 1
}

// objectReader is an object as a file: it opens the store where it is first read after a seek.
type objectReader struct {
	ctx   context.Context //nolint:containedctx // it lives no longer than its request
	store Store
	key   string
	size  int64
	// end is where reading is expected to end, at the place of the next read; the open body is at openAt and ends at openEnd.
	end, at, openAt, openEnd int64
	open                     io.ReadCloser
}

// reopen opens the store at the place of the next read.
func (r *objectReader) reopen() error {
	_ = r.Close() // a body that was read only; nothing can be lost
	end := r.end
	if end <= r.at {
		end = r.size
	}
	body, _, err := r.store.Open(r.ctx, r.key, r.at, end-r.at)
	if err != nil {
		return err
	}
	r.open, r.openAt, r.openEnd = body, r.at, end
	return nil
}

// Read reads on from where the last Seek went.
func (r *objectReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if r.open == nil || r.openAt != r.at || r.at >= r.openEnd {
		if err := r.reopen(); err != nil {
			return 0, err
		}
	}
	n, err := r.open.Read(p)
	r.at += int64(n)
	r.openAt = r.at
	switch {
	case !errors.Is(err, io.EOF):
		return n, err
	case r.at < r.openEnd:
		return n, io.ErrUnexpectedEOF
	case n == 0 && r.at < r.size:
		return r.Read(p) // what was asked for has ended, but more is read
	}
	return n, nil
}

// Seek only remembers where the next read begins.
func (r *objectReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, storage.ErrRange
	}
	r.at = offset
	return offset, nil
}

// Close ends the reading.
func (r *objectReader) Close() error {
	if r.open == nil {
		return nil
	}
	open := r.open
	r.open = nil
	return open.Close()
}

// downloadWriter gives the connection a new deadline with every write, so that a slow reader is served and a silent one is not, and
// keeps plain-text refusals back, for the envelope goes out instead.
type downloadWriter struct {
	http.ResponseWriter
	conn    *http.ResponseController
	stall   time.Duration
	set     time.Time
	refused int
}

// WriteHeader lets every status pass but the refusals.
func (w *downloadWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write moves the deadline on, at most ten times a stall time.
func (w *downloadWriter) Write(p []byte) (int, error) {
	if w.refused != 0 {
		return len(p), nil
	}
	if now := time.Now(); now.Sub(w.set) > w.stall/10 {
		_ = w.conn.SetWriteDeadline(now.Add(w.stall)) // a writer without a connection, as in tests, has no deadlines
		w.set = now
	}
	return w.ResponseWriter.Write(p)
}
