package contract

import (
	"fmt"
	"strconv"
)

// Error says which field of a request breaks the contract, in words that a client may read.
type Error struct {
	// Param is the field at fault as the client spelt it, such as "seconds".
	Param string
	// Code is one of the Code* constants.
	Code string
	// Message is one sentence for a person.
	Message string
}

// Error returns the message with the room's name.
func (e *Error) Error() string { return "contract: " + e.Message }

// The codes of an Error.
const (
	CodeInvalidType          = "invalid_type"
	CodeInvalidValue         = "invalid_value"
	CodeUnknownParameter     = "unknown_parameter"
	CodeUnsupportedParameter = "unsupported_parameter"
	CodeMissingParameter     = "missing_required_parameter"
)

func invalid(param, code, format string, args ...any) *Error {
	return &Error{Param: param, Code: code, Message: fmt.Sprintf(format, args...)}
}

// quote shows a client's own text back to it, bounded.
func quote(text string) string {
	const shownMax = 64
	if len(text) > shownMax {
		text = text[:shownMax]
	}
	return strconv.QuoteToASCII(text)
}
