package api

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"telefuser/storage"
)

// Routes lists what the router serves, as "METHOD /path".
func Routes(s *Server) []string {
	var out []string
	for _, r := range s.echo.Routes() {
		if !strings.HasPrefix(r.Method, "echo_") {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	return out
}

// StatusOf is the status that an error gets; 0 for none.
func StatusOf(err error) int {
	if err == nil {
		return 0
	}
	return toProblem(err).status
}

// DecodeForm decodes a multipart body; file parts are left out of the answer.
func DecodeForm(dir, boundary string, body io.Reader) (map[string]any, error) {
	m, err := newMetrics(prometheus.NewRegistry(), time.Now())
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: Config{TempDir: dir}, metrics: m, bodies: semaphore.NewWeighted(multipartBytesMax)}
	f, err := s.decodeMultipart(context.Background(), arriving{body, func() {}}, boundary, bodyRule{files: []string{"input_reference"}})
	if err != nil {
		return nil, err
	}
	values := f.values
	f.close()
	for name, value := range values {
		if _, isFile := value.(*upload); isFile {
			delete(values, name)
		}
	}
	return values, nil
}

// HoldsMemory decodes a body and says whether it holds memory for bodies while its fields are open, and when they are closed.
func HoldsMemory(contentType string, body io.Reader) (open, closed bool) {
	const all = 64 << 20
	s := &Server{bodies: semaphore.NewWeighted(all)}
	held := func() bool {
		free := s.bodies.TryAcquire(all)
		if free {
			s.bodies.Release(all)
		}
		return !free
	}
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", body)
	request.Header.Set("Content-Type", contentType)
	f, err := s.decodeBody(echo.New().NewContext(request, httptest.NewRecorder()), bodyRule{})
	open = held()
	if err == nil {
		f.close()
		f.close()
	}
	return open, held()
}

// DecodeJSON is decodeJSON.
func DecodeJSON(body []byte) (any, error) { return decodeJSON(body) }

// ReferenceBytes is the picture of a data URL or of base64.
func ReferenceBytes(text string) ([]byte, error) {
	r, err := referenceText("input_reference", text)
	if err != nil {
		return nil, err
	}
	body, err := r.open(context.Background())
	if err != nil {
		return nil, err
	}
	return io.ReadAll(body)
}

// oneObject is a store with one object.
type oneObject struct {
	Store
	data []byte
}

func (o oneObject) Stat(context.Context, string) (storage.Object, error) {
	return storage.Object{SizeBytes: int64(len(o.data)), ETag: `"e"`}, nil
}

func (o oneObject) Open(_ context.Context, _ string, offset, length int64) (io.ReadCloser, storage.Object, error) {
	if offset < 0 || length <= 0 || offset+length > int64(len(o.data)) {
		return nil, storage.Object{}, storage.ErrRange
	}
	return io.NopCloser(bytes.NewReader(o.data[offset : offset+length])), storage.Object{}, nil
}

// ServeBytes answers a request with a Range header for one object.
func ServeBytes(ctx context.Context, data []byte, rangeHeader string) (int, []byte) {
	s := &Server{cfg: Config{StallTimeout: time.Second}, deps: Deps{Store: oneObject{data: data}}, log: slog.New(slog.DiscardHandler)}
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	request.Header.Set("Range", rangeHeader)
	c := echo.New().NewContext(request, recorder)
	if err := s.serveObject(c, "k", "video/mp4", "inline"); err != nil {
		return toProblem(err).status, nil
	}
	return recorder.Code, recorder.Body.Bytes()
}
