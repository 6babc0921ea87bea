package webhooks

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"telefuser/internal/outbound"
	"telefuser/jobs"
)

// The words for why an attempt failed.
const (
	reasonUnreachable = "unreachable"
	reasonAddress     = "address"
	reasonStatus      = "status"
	reasonRedirect    = "redirect"
	reasonGone        = "gone"
	reasonInternal    = "internal"
)

// retryAfterMax bounds what a receiver may ask for; pauseDefault is what one gets that is overloaded and asks for nothing.
const (
	retryAfterMax = 24 * time.Hour
	pauseDefault  = 10 * time.Second
)

// judge says what follows from an attempt: 2xx is success, 410 the end of the endpoint, everything else, redirects included, another attempt while the schedule has one.
// 429, 502 and 504 pause the whole endpoint.
func (c Config) judge(attempts int, answer outbound.Answer, err error, now time.Time) jobs.Settlement {
	r := jobs.Settlement{Status: answer.Status, RestMax: c.RestMax}
	switch {
	case errors.Is(err, outbound.ErrURL):
		r.Reason = reasonAddress
	case errors.Is(err, outbound.ErrUnreachable):
		r.Reason = reasonUnreachable
	case err != nil:
		r.Reason = reasonInternal
	case answer.Status >= 200 && answer.Status < 300:
		r.Delivered = true
		return r
	case answer.Status == http.StatusGone:
		r.Reason, r.Disable = reasonGone, true
		return r
	case answer.Status >= 300 && answer.Status < 400:
		r.Reason = reasonRedirect
	default:
		r.Reason = reasonStatus
	}
	if attempts >= len(c.Schedule) {
		r.Failed = true
		return r
	}
	asked := retryAfter(answer.RetryAfter, now)
	r.Next = max(jitter(c.Schedule[attempts]), asked)
	switch answer.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		r.Pause = asked
		if asked == 0 {
			r.Pause = min(pauseDefault, r.Next)
		}
	}
	return r
}

// jitter spreads a pause by a tenth in both directions.
func jitter(d time.Duration) time.Duration {
	if d < 10 {
		return d
	}
	return d - d/10 + rand.N(d/5)
}

// retryAfter reads the header in both of its forms; 0 where it says nothing that makes sense.
func retryAfter(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds > 0) {
			return 0
		}
		return time.Duration(min(seconds, retryAfterMax.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), retryAfterMax))
}
