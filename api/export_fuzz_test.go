package api

import "strings"

// DecodeURLEncoded decodes an urlencoded body.
func DecodeURLEncoded(body string) (map[string]any, error) {
	f, err := decodeURLEncoded(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return f.values, nil
}

// LastEventID is lastEventID.
func LastEventID(text string) (int64, error) { return lastEventID(text) }

// ParseName is parseName.
func ParseName(name string) ([]string, error) { return parseName(name) }

// Bearer is bearer.
func Bearer(header string) (string, bool) { return bearer(header) }

// CleanFilename is cleanFilename, and Disposition the header that shows such a name.
func CleanFilename(name string) string { return cleanFilename(name) }

// Disposition is disposition.
func Disposition(kind, filename string) string { return disposition(kind, filename) }

// RequestID is requestID.
func RequestID(given string) string { return requestID(given) }

// EnvelopeOf is envelopeOf.
func EnvelopeOf(p []byte) []byte { return envelopeOf(p) }
