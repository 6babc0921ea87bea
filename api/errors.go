package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
	"telefuser/storage"
	"telefuser/streaming"
	"telefuser/workers/contract"
)

// The errors of a DecodeImage.
var (
	// ErrImageType means that the bytes are no still PNG, JPEG or WebP.
	ErrImageType = errors.New("unsupported image type")
	// ErrImageTooLarge means that the picture has too many bytes or pixels.
	ErrImageTooLarge = errors.New("image too large")
	// ErrImageCorrupt means that the picture cannot be decoded.
	ErrImageCorrupt = errors.New("image corrupt")
)

// The errors of Webhooks and of a FetchImage.
var (
	// ErrAddress means that the text is no address that may be called.
	ErrAddress = errors.New("unacceptable address")
	// ErrUnreachable means that nothing usable came from the address, or that it must not be called; it does not say which.
	ErrUnreachable = errors.New("address not reachable")
)

// The types of the envelope.
const (
	typeInvalidRequest = "invalid_request_error"
	typeRateLimit      = "rate_limit_error"
	typeServer         = "server_error"
)

// The codes of the envelope that are not a contract's.
const (
	codeNotFound            = "not_found"
	codeUnknownRoute        = "unknown_url"
	codeMethodNotAllowed    = "method_not_allowed"
	codeInvalidAPIKey       = "invalid_api_key"
	codeInvalidBody         = "invalid_body"
	codeInvalidType         = contract.CodeInvalidType
	codeInvalidValue        = contract.CodeInvalidValue
	codeMissingParameter    = contract.CodeMissingParameter
	codeUnknownParameter    = contract.CodeUnknownParameter
	codeUnsupported         = contract.CodeUnsupportedParameter
	codeInvalidPrompt       = "invalid_prompt"
	codeTooLong             = "string_above_max_length"
	codeTooLarge            = "request_too_large"
	codeUnsupportedMedia    = "unsupported_media_type"
	codeInvalidImage        = "invalid_image"
	codeModelNotFound       = "model_not_found"
	codeVideoNotReady       = "video_not_ready"
	codeVideoNotCompleted   = "video_not_completed"
	codeVideoFailed         = "video_failed"
	codeContentMissing      = "content_missing"
	codeIdempotencyMismatch = "idempotency_mismatch"
	codeRateLimit           = "rate_limit_exceeded"
	codeQueueFull           = "queue_full"
	codeQuota               = "quota_exceeded"
	codeTooManyStreams      = "too_many_streams"
	codeStreamingOff        = "streaming_off"
	codeMediaUnavailable    = "media_unavailable"
	codeNoIdleWorker        = "no_idle_worker"
	codeNoCapacity          = "no_capacity"
	codeTooManySessions     = "too_many_sessions"
	codeSessionEnded        = "session_ended"
	codeBatchEnded          = "batch_ended"
	codeWebhooksOff         = "webhooks_off"
	codeWebhookUnreachable  = "webhook_unreachable"
	codeTooManyWebhooks     = "too_many_webhook_endpoints"
	codeUnavailable         = "service_unavailable"
	codeStorageFull         = "insufficient_storage"
	codeUploadStalled       = "upload_stalled"
	codeClientGone          = "client_closed_request"
	codeInternal            = "internal_error"
)

// statusClientGone is what the log shows of a request whose client went away; nobody receives it.
const statusClientGone = 499

// problem is an answer that is not a success. It is an error, so that handlers return it.
type problem struct {
	status  int
	typ     string
	code    string
	param   string
	message string
	// retryAfter is in seconds, 0 for none; noRetry tells the SDKs not to try again whatever the status.
	retryAfter int
	noRetry    bool
	// cause is for the log alone.
	cause error
}

// Error is for the log; clients read the message alone.
func (p *problem) Error() string {
	if p.cause != nil {
		return "api: " + p.message + ": " + p.cause.Error()
	}
	return "api: " + p.message
}

// Unwrap gives the cause.
func (p *problem) Unwrap() error { return p.cause }

// badRequest is a 400 for the field param; an empty param means the request as a whole.
func badRequest(param, code, message string) *problem {
	return &problem{status: http.StatusBadRequest, typ: typeInvalidRequest, code: code, param: param, message: message}
}

// tooLarge is a 413.
func tooLarge(param, message string) *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, typ: typeInvalidRequest, code: codeTooLarge, param: param, message: message}
}

// notFound is a 404; what is asked for is named by its kind alone, so that a missing id and another tenant's look the same.
func notFound(param, kind string) *problem {
	return &problem{status: http.StatusNotFound, typ: typeInvalidRequest, code: codeNotFound, param: param, message: "There is no " + kind + " with this id."}
}

// translation is one row of the table from the rooms' errors to answers. The first row that matches counts.
type translation struct {
	is     error
	answer problem
}

// translations is the one place where a sentinel gets its status, type and code.
func translations() []translation {
	unavailable := problem{status: 503, typ: typeServer, code: codeUnavailable, message: "The service is not available at the moment. Try again.", retryAfter: retryAfterSeconds}
	full := problem{status: 503, typ: typeServer, code: codeStorageFull, message: "There is no storage left for this request.", retryAfter: 30}
	return []translation{
		{jobs.ErrUnauthorized, *unauthorized()},
		{jobs.ErrNotFound, problem{status: 404, typ: typeInvalidRequest, code: codeNotFound, message: "There is no object with this id."}},
		{jobs.ErrIdempotencyMismatch, problem{status: 409, typ: typeInvalidRequest, code: codeIdempotencyMismatch, param: "Idempotency-Key",
			message: "This Idempotency-Key was used with other fields.", noRetry: true}},
		{jobs.ErrQueueFull, problem{status: 429, typ: typeRateLimit, code: codeQueueFull, message: "The queue is full. Try again later.", retryAfter: queueFullRetryAfter}},
		{jobs.ErrMemoryFull, problem{status: 503, typ: typeServer, code: codeQueueFull, message: "The service takes nothing more until some of its work is done. Try again later.",
			retryAfter: queueFullRetryAfter}},
		{streaming.ErrNotFound, *notFound("session_id", "session")},
		{streaming.ErrNoIdleWorker, problem{status: 429, typ: typeRateLimit, code: codeNoIdleWorker, message: "No worker is idle. Try again later.", retryAfter: queueFullRetryAfter}},
		{streaming.ErrQueueFull, problem{status: 429, typ: typeRateLimit, code: codeQueueFull, message: "The queue is full. Try again later.", retryAfter: queueFullRetryAfter}},
		{streaming.ErrNoCapacity, problem{status: 429, typ: typeRateLimit, code: codeNoCapacity, message: "No worker serves this pipeline.", retryAfter: queueFullRetryAfter}},
		{streaming.ErrTenantLimit, problem{status: 429, typ: typeRateLimit, code: codeTooManySessions, message: "There are too many live sessions already. End one of them first.",
			retryAfter: quotaRetryAfter}},
		{streaming.ErrTerminal, *sessionEnded()},
		{streaming.ErrUnavailable, unavailable},
		{jobs.ErrTooMany, problem{status: 429, typ: typeRateLimit, code: codeTooManyWebhooks, message: "There are too many webhook endpoints already. Delete one of them first.",
			noRetry: true, retryAfter: 60}},
		{ErrAddress, *badRequest("url", codeInvalidValue, "url must be an https address of at most 2048 characters, without user and password, on a port that this server calls.")},
		{ErrUnreachable, *badRequest("url", codeInvalidValue, "url must have a public host that can be found.")},
		{jobs.ErrSealed, problem{status: 503, typ: typeServer, code: codeWebhooksOff, message: "The secret of this webhook cannot be opened here. Rotate it, or tell the operator.", noRetry: true}},
		{jobs.ErrUnstaged, unavailable},
		{jobs.ErrUnavailable, unavailable},
		{jobs.ErrDataLost, unavailable},
		{errSpool, full},
		{storage.ErrFull, full},
		{storage.ErrUnavailable, unavailable},
		{storage.ErrCorrupt, unavailable},
		{storage.ErrNotFound, problem{status: 404, typ: typeInvalidRequest, code: codeContentMissing, message: "The file is not there any more."}},
		{os.ErrDeadlineExceeded, problem{status: 408, typ: typeInvalidRequest, code: codeUploadStalled, message: "The body of the request did not arrive in time."}},
		{context.Canceled, problem{status: statusClientGone, typ: typeInvalidRequest, code: codeClientGone, message: "The client closed the request."}},
		{context.DeadlineExceeded, unavailable},
	}
}

func sessionEnded() *problem {
	return &problem{status: 409, typ: typeInvalidRequest, code: codeSessionEnded, param: "session_id", message: "The session has ended.", noRetry: true}
}

// toProblem turns any error into an answer. What no rule knows is a 500 whose text stays in the log.
func toProblem(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	var field *contract.Error
	if errors.As(err, &field) {
		return badRequest(field.Param, field.Code, field.Message)
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge("", "The body is larger than "+strconv.FormatInt(large.Limit, 10)+" bytes.")
	}
	var quota *jobs.QuotaError
	if errors.As(err, &quota) {
		return quotaProblem(quota, err)
	}
	var routing *echo.HTTPError
	if errors.As(err, &routing) {
		return routingProblem(routing)
	}
	for _, row := range translations() {
		if errors.Is(err, row.is) {
			answer := row.answer
			answer.cause = err
			return &answer
		}
	}
	return &problem{status: 500, typ: typeServer, code: codeInternal, message: "The server had an error. The request id leads to it in the log.", cause: err}
}

// routingProblem answers for the router.
func routingProblem(err *echo.HTTPError) *problem {
	switch err.Code {
	case http.StatusNotFound:
		return &problem{status: 404, typ: typeInvalidRequest, code: codeUnknownRoute, message: "There is no such URL."}
	case http.StatusMethodNotAllowed:
		return methodNotAllowed()
	}
	return &problem{status: err.Code, typ: typeInvalidRequest, code: codeInvalidBody, message: http.StatusText(err.Code), cause: err}
}

func methodNotAllowed() *problem {
	return &problem{status: 405, typ: typeInvalidRequest, code: codeMethodNotAllowed, message: "This URL does not have this method; the header Allow has those that it has."}
}

// write sends the envelope. An answer that has begun cannot be changed any more; its connection is left to end early.
func (p *problem) write(c echo.Context) error {
	if c.Response().Committed {
		return nil
	}
	header := c.Response().Header()
	if p.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.noRetry {
		header.Set("X-Should-Retry", "false")
	}
	for _, name := range []string{"ETag", "Content-Type", "Content-Disposition", "Last-Modified"} {
		header.Del(name) // they described what was not sent
	}
	body := openapi.Error{Error: openapi.ErrorBody{Message: p.message, Type: p.typ, Param: orNull(p.param), Code: orNull(p.code)}}
	if strings.HasPrefix(c.Request().URL.Path, "/v1/stream/") {
		body.Detail = orNull(p.code)
	}
	return c.JSON(p.status, body)
}

// orNull makes null of an empty text.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
