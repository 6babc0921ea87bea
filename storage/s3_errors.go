package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Error codes of the protocol that mean something to us.
const (
	codePreconditionFailed  = "PreconditionFailed"
	codeConditionalConflict = "ConditionalRequestConflict"
	// codeUnknownUser comes with a 404 from versitygw.
	codeUnknownUser = "XAdminUserNotFound"
)

// s3Error translates what the SDK answers. The SDK's types and the wire's codes stay inside: only their text goes on, for the log.
func s3Error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	code, status := wireError(err)
	switch {
	case code == codePreconditionFailed, status == http.StatusPreconditionFailed, code == codeConditionalConflict:
		return ErrExists
	case code == "QuotaExceeded", code == "XMinioStorageFull", code == "EntityTooLarge", status == http.StatusInsufficientStorage:
		return fmt.Errorf("%w: %s", ErrFull, describe(code, status))
	case code == "BadDigest", code == "XAmzContentSHA256Mismatch", code == "InvalidDigest":
		return fmt.Errorf("%w: %s", ErrCorrupt, describe(code, status))
	case status == http.StatusNotFound && meansNoObject(code):
		return ErrNotFound
	case status == http.StatusRequestedRangeNotSatisfiable:
		return ErrRange
	case status == http.StatusUnauthorized, status == http.StatusForbidden, code == codeUnknownUser:
		return fmt.Errorf("%w: %s", ErrDenied, describe(code, status))
	case status != 0:
		return fmt.Errorf("%w: %s", ErrUnavailable, describe(code, status))
	default:
		return fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
}

// meansNoObject tells a missing object from a missing bucket or account. An answer to HEAD has no code of its own.
func meansNoObject(code string) bool {
	return code == "" || code == "NotFound" || code == "NoSuchKey" || code == "NoSuchUpload"
}

// wireError takes the code and the HTTP status out of an SDK error, "" and 0 where there was no answer.
func wireError(err error) (code string, status int) {
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	return code, status
}

func describe(code string, status int) string {
	return fmt.Sprintf("the service answers %d %s", status, code)
}
