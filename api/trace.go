package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"telefuser/internal/tracing"
)

// trace begins the span of a request, within the trace that its client names. Probes and scrapes have none.
func (s *Server) trace(c echo.Context) *tracing.Span {
	r := c.Request()
	if path := r.URL.Path; isProbe(path) || path == "/metrics" || path == "/v1/service/metrics" {
		return nil
	}
	ctx, span := s.deps.Tracer.Start(s.deps.Tracer.Join(r.Context(), r.Header.Get("Traceparent")), boundedMethod(r.Method))
	c.SetRequest(r.WithContext(ctx))
	return span
}

// endTrace says what the request was and what became of it: routes and ids, and nothing that its client wrote.
func endTrace(span *tracing.Span, c echo.Context, err error) {
	if span == nil {
		return
	}
	route, status := routeOf(c, err), c.Response().Status
	span.Name(boundedMethod(c.Request().Method) + " " + route)
	span.Text("http.request.method", boundedMethod(c.Request().Method))
	span.Text("http.route", route)
	span.Number("http.response.status_code", status)
	span.Text("telefuser.request_id", requestIDOf(c))
	for key, name := range map[string]string{jobIDKey: "telefuser.job_id", sessionIDKey: "telefuser.session_id"} {
		if id, ok := c.Get(key).(string); ok {
			span.Text(name, id)
		}
	}
	if status >= http.StatusInternalServerError {
		span.Fail("server error")
	}
	span.End()
}
