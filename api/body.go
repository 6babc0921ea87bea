package api

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// bodyRule says what one route takes.
type bodyRule struct {
	// multipartOnly refuses JSON and urlencoded bodies.
	multipartOnly bool
	// files are the fields that may be file parts.
	files []string
	// batches takes the file of a batch too, which may be larger than others.
	batches bool
}

// bodyBytesMax bounds a multipart body.
func (r bodyRule) bodyBytesMax() int64 {
	if r.batches {
		return filesBodyBytesMax
	}
	return multipartBytesMax
}

// fileBytesMax bounds a file part, as far as is known from the parts before it what it is.
func (r bodyRule) fileBytesMax(before *fields) int64 {
	purpose, known := before.values["purpose"]
	if r.batches && (!known || purpose == batchPurpose) {
		return batchFileBytesMax
	}
	return imageBytesMax
}

// decodeBody reads the whole body into fields, whatever its content type. The caller closes what it gets as soon as it has taken the fields, for
// they may hold much memory; nothing is left open on error.
func (s *Server) decodeBody(c echo.Context, rule bodyRule) (*fields, error) {
	request := c.Request()
	if encoding := request.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, unsupportedMedia("A Content-Encoding is not supported.")
	}
	mediaType, params, err := mime.ParseMediaType(request.Header.Get("Content-Type"))
	if err != nil {
		return nil, unsupportedMedia("The Content-Type is missing or malformed.")
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return nil, unsupportedMedia("The charset must be utf-8.")
	}
	body := newStallReader(c, s.cfg.StallTimeout, s.cfg.UploadTimeout)
	defer body.done()
	switch {
	case mediaType == "multipart/form-data":
		return s.decodeMultipart(request.Context(), arriving{http.MaxBytesReader(c.Response(), body, rule.bodyBytesMax()), body.done}, params["boundary"], rule)
	case rule.multipartOnly:
	case mediaType == "application/json":
		return s.decodeJSONBody(request.Context(), arriving{http.MaxBytesReader(c.Response(), body, jsonBytesMax), body.done})
	case mediaType == "application/x-www-form-urlencoded":
		return decodeURLEncoded(http.MaxBytesReader(c.Response(), body, formBytesMax))
	}
	if rule.multipartOnly {
		return nil, unsupportedMedia("The Content-Type must be multipart/form-data.")
	}
	return nil, unsupportedMedia("The Content-Type must be multipart/form-data, application/json or application/x-www-form-urlencoded.")
}

func unsupportedMedia(message string) *problem {
	return &problem{status: http.StatusUnsupportedMediaType, typ: typeInvalidRequest, code: codeUnsupportedMedia, message: message}
}

// bodyError is what a failed read of the body means: a limit, a stalled client and a full disk keep their meaning, everything else is a body
// that ended too early.
func bodyError(err error, what string) error {
	var large *http.MaxBytesError
	var known *problem
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &large), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, errSpool):
		return err
	}
	return &problem{status: 400, typ: typeInvalidRequest, code: codeInvalidBody, message: what, cause: err}
}

// arriving is a body under way; done is called when all of it is there, before anything else is waited for.
type arriving struct {
	io.Reader
	done func()
}

// hold waits for the memory of large text and keeps it until the fields are closed. It is asked for once a request and not before the whole body
// is there: so a slow client holds none, and no two requests wait for each other's.
func (s *Server) hold(ctx context.Context, f *fields, size int64) error {
	if err := s.bodies.Acquire(ctx, size); err != nil {
		return err
	}
	f.release = sync.OnceFunc(func() { s.bodies.Release(size) })
	return nil
}

// decodeJSONBody waits until all of the body is there before it asks for memory to decode it in.
func (s *Server) decodeJSONBody(ctx context.Context, body arriving) (*fields, error) {
	received := newSpool(s.cfg.TempDir)
	defer func() { _ = received.Close() }()
	if err := s.receive(received, body); err != nil {
		return nil, bodyError(err, "The body ended too early.")
	}
	body.done()
	f := &fields{}
	if received.size > jsonPlainBytesMax {
		if err := s.hold(ctx, f, received.size); err != nil {
			return nil, err
		}
	}
	var err error
	if f.values, err = decodeObject(received); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// decodeObject decodes the JSON of a body.
func decodeObject(received *spool) (map[string]any, error) {
	text := make([]byte, received.size)
	if _, err := io.ReadFull(received.Reader(), text); err != nil {
		return nil, err
	}
	value, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, badRequest("", codeInvalidBody, "The body must be a JSON object.")
	}
	if plain := received.size - dataURLBytes(object); plain > jsonPlainBytesMax {
		return nil, tooLarge("", "The JSON is larger than 1 MB besides its data URLs.")
	}
	return object, nil
}

// dataURLBytes is the length of all long text under the fields that may have a data URL.
func dataURLBytes(value any) int64 {
	switch v := value.(type) {
	case string:
		return int64(len(v))
	case map[string]any:
		total := int64(0)
		for _, name := range []string{"input_reference", "image_url", "reference_url", "image", "image_path", "config", "extra_body", "extra_params", "extra_json"} {
			total += dataURLBytes(v[name])
		}
		return total
	}
	return 0
}

// decodeURLEncoded reads a form.
func decodeURLEncoded(body io.Reader) (*fields, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, bodyError(err, "The body ended too early.")
	}
	values, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, badRequest("", codeInvalidBody, "The body is not valid urlencoded text.")
	}
	if len(values) > partsMax*2 {
		return nil, badRequest("", codeInvalidBody, "The body has too many fields.")
	}
	f := &fields{values: map[string]any{}, form: true}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for i, value := range values[name] {
			if i >= partsMax {
				return nil, badRequest(shown(name), codeInvalidBody, shown(name)+" is repeated too often.")
			}
			if err := f.put(name, value); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// uploadBytesPerSecondMin is what a body must bring on average, beside one stall time: a byte now and then keeps a connection for nothing.
const uploadBytesPerSecondMin = 1 << 10

// stallReader gives the connection a new deadline with every read, so that a client may be slow but neither silent nor next to it. The deadline of the
// answer moves along, because HTTP/2 would end a stream at it although nothing is written yet.
type stallReader struct {
	body  io.Reader
	conn  *http.ResponseController
	stall time.Duration
	end   time.Time
	set   time.Time
	ended bool
	// received is how many bytes came, waited how long they were waited for. What else takes time is not the client's fault.
	received int64
	waited   time.Duration
}

func newStallReader(c echo.Context, stall, total time.Duration) *stallReader {
	return &stallReader{body: c.Request().Body, conn: http.NewResponseController(c.Response()), stall: stall, end: time.Now().Add(total)}
}

// Read moves the deadline on, at most ten times a stall time.
func (r *stallReader) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(r.set) > r.stall/10 {
		spare := time.Duration(r.received)*time.Second/uploadBytesPerSecondMin - r.waited
		deadline := now.Add(r.stall + min(0, spare))
		if deadline.After(r.end) {
			deadline = r.end
		}
		_ = r.conn.SetWriteDeadline(deadline.Add(r.stall))
		_ = r.conn.SetReadDeadline(deadline) // a writer without a connection, as in tests, has no deadlines
		r.set = now
	}
	began := time.Now()
	n, err := r.body.Read(p)
	r.received, r.waited = r.received+int64(n), r.waited+time.Since(began)
	r.ended = r.ended || errors.Is(err, io.EOF)
	return n, err
}

// Close is for http.MaxBytesReader; the server itself closes the body.
func (r *stallReader) Close() error { return nil }

// done takes the deadline away, or it would end the request under way. Of a body that was not read to its end the server still reads a
// little, and for that the deadline stays. What follows, such as waiting for a decoder, may take as long as the upload could.
func (r *stallReader) done() {
	if r.ended {
		_ = r.conn.SetWriteDeadline(r.end)
		_ = r.conn.SetReadDeadline(time.Time{})
	}
}
