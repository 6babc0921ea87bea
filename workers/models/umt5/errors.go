package umt5

import (
	"errors"
	"fmt"
)

var (
	// ErrTokenizer says that a tokenizer's file is not there or cannot be used.
	ErrTokenizer = errors.New("umt5: unusable tokenizer")
	// ErrText says that a text cannot be encoded: it is too long.
	ErrText = errors.New("umt5: unusable text")
)

// unusable builds an ErrTokenizer.
func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTokenizer, fmt.Sprintf(format, args...))
}
