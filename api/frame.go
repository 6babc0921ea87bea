package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
)

// requestIDKey is where the request's id lies in an echo context.
const requestIDKey = "request_id"

func requestIDOf(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// frame is around every request, unknown routes included: request id, standing headers, deadlines, recovery from panics, the error
// envelope, metrics and one line of log.
func (s *Server) frame(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begin := time.Now()
		id := requestID(c.Request().Header.Get("X-Request-Id"))
		c.Set(requestIDKey, id)
		c.SetRequest(c.Request().WithContext(jobs.WithPatience(c.Request().Context())))
		header := c.Response().Header()
		header.Set("X-Request-Id", id)
		header.Set("Openai-Version", "2020-10-01")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		c.Response().Before(func() {
			header.Set("Openai-Processing-Ms", strconv.FormatInt(time.Since(begin).Milliseconds(), 10))
			_ = http.NewResponseController(c.Response().Writer).SetWriteDeadline(time.Now().Add(s.cfg.writeTimeout()))
		})
		s.metrics.inflight.Inc()
		defer s.metrics.inflight.Dec()
		span := s.trace(c)
		err := s.recovered(c, next)
		s.finish(c, begin, err)
		endTrace(span, c, err)
		return nil
	}
}

// recovered runs the rest and makes an error of a panic. The sentinel that asks for the connection to be cut passes through.
func (s *Server) recovered(c echo.Context, next echo.HandlerFunc) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			s.log.Error("panic in a handler", slog.String("request_id", requestIDOf(c)), slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			err = &problem{status: 500, typ: typeServer, code: codeInternal, message: toProblem(errPanic).message, cause: errPanic}
		}
	}()
	return next(c)
}

var errPanic = errors.New("panic")

// finish answers with the envelope where the handler failed, counts, and logs.
func (s *Server) finish(c echo.Context, begin time.Time, err error) {
	status := c.Response().Status
	level := slog.LevelInfo
	attrs := make([]slog.Attr, 0, 8)
	if err != nil {
		p := toProblem(err)
		if writeErr := p.write(c); writeErr != nil {
			s.log.Debug("the answer could not be written", slog.String("request_id", requestIDOf(c)))
		}
		status = p.status
		attrs = append(attrs, slog.String("code", p.code))
		if p.status >= 500 {
			level = slog.LevelError
			if p.cause != nil { // of a 4xx it may quote what the client sent
				attrs = append(attrs, slog.String("cause", p.cause.Error()))
			}
		}
	}
	route := routeOf(c, err)
	took := time.Since(begin)
	s.metrics.observe(c.Request().Method, route, status, took)
	attrs = append(attrs, slog.String("request_id", requestIDOf(c)), slog.String("method", boundedMethod(c.Request().Method)), slog.String("route", route),
		slog.Int("status", status), slog.Float64("ms", float64(took.Microseconds())/1000))
	if who := callerOf(c); who.keyID != "" {
		attrs = append(attrs, slog.String("key", who.keyID))
	}
	if job, ok := c.Get(jobIDKey).(string); ok {
		attrs = append(attrs, slog.String("job_id", job))
	}
	if session, ok := c.Get(sessionIDKey).(string); ok {
		attrs = append(attrs, slog.String("session", session))
	}
	if isProbe(route) {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(c.Request().Context(), level, "request", attrs...)
}

// isProbe tells the routes that balancers and supervisors ask every few seconds. Whether the server is ready is logged when it changes.
func isProbe(route string) bool {
	return route == "/health" || route == "/v1/service/health" || route == "/v1/service/ready" || route == "/v1/stream/health"
}

// jobIDKey is where a handler leaves the job's id for the log.
const jobIDKey = "job_id"

// sessionIDKey is the same for a live session's id.
const sessionIDKey = "session_id"

// routeOf is the pattern that matched, which is bounded, never the path that came.
func routeOf(c echo.Context, err error) string {
	if c.Path() == "" || errors.Is(err, echo.ErrNotFound) || errors.Is(err, echo.ErrMethodNotAllowed) {
		return "unmatched"
	}
	return c.Path()
}

// requestID takes the client's id where it is harmless and makes one otherwise.
func requestID(given string) string {
	if len(given) >= 1 && len(given) <= 64 && allIDLetters(given) {
		return given
	}
	return "req_" + rand.Text()
}

func allIDLetters(text string) bool {
	for i := range len(text) {
		b := text[i]
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' || b == '_' || b == '-') {
			return false
		}
	}
	return true
}
