package storage

import (
	"fmt"
	"strings"
)

// KeyBytesMax bounds a key, KeySegmentBytesMax each part of it between slashes: file systems allow 255 and drivers add a suffix.
const (
	KeyBytesMax        = 512
	KeySegmentBytesMax = 200
)

// ValidateKey answers an ErrKey unless key is 1 to KeyBytesMax bytes of A-Z a-z 0-9 . _ - in segments between single slashes, no segment
// begins with a dot, and ".." stands nowhere. Names that begin with a dot are the drivers' own.
func ValidateKey(key string) error {
	if key == "" || len(key) > KeyBytesMax {
		return fmt.Errorf("storage: %w: %d bytes long, allowed are 1 to %d", ErrKey, len(key), KeyBytesMax)
	}
	if strings.Contains(key, "..") {
		return fmt.Errorf("storage: %w: contains %q", ErrKey, "..")
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment[0] == '.' || len(segment) > KeySegmentBytesMax {
			return fmt.Errorf("storage: %w: a segment is empty, longer than %d bytes or begins with a dot", ErrKey, KeySegmentBytesMax)
		}
	}
	return validateKeyBytes(key)
}

// validateKeyBytes checks the alphabet alone, as prefixes and cursors need it too.
func validateKeyBytes(s string) error {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-', c == '/':
		default:
			return fmt.Errorf("storage: %w: byte %#02x at %d", ErrKey, c, i)
		}
	}
	return nil
}
