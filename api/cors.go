package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// corsAllowHeaders are what the official SDKs send from a browser.
func corsAllowHeaders() string {
	return strings.Join([]string{"Authorization", "Content-Type", "Accept", "Idempotency-Key", "Last-Event-ID", "Range", "If-Range", "If-None-Match",
		"OpenAI-Organization", "OpenAI-Project", "OpenAI-Beta", "User-Agent", "X-Request-ID", "X-Correlation-ID", "X-Stainless-Arch", "X-Stainless-Async",
		"X-Stainless-Custom-Poll-Interval", "X-Stainless-Helper-Method", "X-Stainless-Lang", "X-Stainless-OS", "X-Stainless-Package-Version", "X-Stainless-Poll-Helper",
		"X-Stainless-Poll-Interval", "X-Stainless-Read-Timeout", "X-Stainless-Retry-Count", "X-Stainless-Runtime", "X-Stainless-Runtime-Version",
		"X-Stainless-Timeout"}, ", ")
}

// corsExposeHeaders are what a browser's script may read.
const corsExposeHeaders = "X-Request-Id, Openai-Poll-After-Ms, Openai-Processing-Ms, Openai-Version, Retry-After, X-Should-Retry, X-Ratelimit-Limit-Requests, " +
	"X-Ratelimit-Remaining-Requests, X-Ratelimit-Reset-Requests, Server-Timing, Content-Disposition, Content-Range, ETag"

// cors answers browsers of the listed origins and nobody else; it is nothing where no origin is listed. The origin is named exactly and
// credentials are never allowed, for keys travel in a header.
func (s *Server) cors(next echo.HandlerFunc) echo.HandlerFunc {
	if len(s.cfg.CORSOrigins) == 0 {
		return next
	}
	allowHeaders := corsAllowHeaders()
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Add("Vary", "Origin")
		request := c.Request()
		origin := request.Header.Get("Origin")
		if !slices.Contains(s.cfg.CORSOrigins, origin) {
			return next(c)
		}
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", corsExposeHeaders)
		if request.Method != http.MethodOptions || request.Header.Get("Access-Control-Request-Method") == "" {
			return next(c)
		}
		header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE")
		header.Set("Access-Control-Allow-Headers", allowHeaders)
		header.Set("Access-Control-Max-Age", "600")
		return c.NoContent(http.StatusNoContent)
	}
}
