package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
)

// quotaRetryAfter is when a client may look again, in seconds, where nobody can say when the quota lets more through.
const quotaRetryAfter = 10

// quotaMessages say what a key has all of.
var quotaMessages = map[string]string{
	"queued":                     "Too many videos of this key wait already.",
	"queue-age":                  "The videos of this key have waited too long already; no more are taken until they run.",
	"megapixel-seconds-per-hour": "This key has asked for as many pixels and seconds as it may in an hour.",
	"batches":                    "Too many batches of this key have not ended.",
	"stored-bytes":               "The files and videos of this key take all the room that it has. Delete some first.",
}

// quotaProblem is a 429 that says which limit it was and when to come again; one request that is larger than the limit is not worth another try.
func quotaProblem(quota *jobs.QuotaError, cause error) *problem {
	p := &problem{status: http.StatusTooManyRequests, typ: typeRateLimit, code: codeQuota, retryAfter: quotaRetryAfter, cause: cause, message: quotaMessages[quota.Limit]}
	switch {
	case quota.RetryAfter > 0:
		p.retryAfter = wholeSeconds(quota.RetryAfter)
	case quota.RetryAfter < 0:
		p.noRetry = true
	}
	return p
}

// wholeSeconds rounds up, to at least one.
func wholeSeconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

// limitRate counts one create against the key's rate and says where it stands. Reading is never counted.
func (s *Server) limitRate(c echo.Context, who caller) error {
	rate, err := s.deps.Jobs.AllowCreate(c.Request().Context(), who.keyID)
	if err != nil {
		return err
	}
	if rate.Limit > 0 {
		header := c.Response().Header()
		header.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(rate.Limit))
		header.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(rate.Remaining))
		header.Set("X-Ratelimit-Reset-Requests", rate.ResetAfter.Round(time.Millisecond).String())
	}
	if rate.Allowed {
		return nil
	}
	wait := min(60, wholeSeconds(rate.RetryAfter))
	return &problem{status: http.StatusTooManyRequests, typ: typeRateLimit, code: codeRateLimit, retryAfter: wait,
		message: "Too many creates for this key. Try again in " + strconv.Itoa(wait) + " s."}
}

// limitUpload is limitRate, and the room that the key has for files.
func (s *Server) limitUpload(c echo.Context, who caller) error {
	if err := s.limitRate(c, who); err != nil {
		return err
	}
	return s.deps.Jobs.CheckStored(c.Request().Context(), who.tenant, who.keyID)
}
