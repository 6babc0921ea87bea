package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeJSON reads one JSON value strictly: valid UTF-8 without a byte order mark, no lone surrogates, no key twice in an object, no
// NUL in any text, bounded depth, and nothing behind it. Numbers keep their text.
func decodeJSON(body []byte) (any, error) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return nil, badJSON("begins with a byte order mark")
	case !utf8.Valid(body):
		return nil, badJSON("is not valid UTF-8")
	case hasLoneSurrogate(body):
		return nil, badJSON("has a lone surrogate")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	reader := jsonReader{dec: dec}
	value, err := reader.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, badJSON("has something behind its value")
	}
	return value, nil
}

func badJSON(what string) error {
	return badRequest("", codeInvalidBody, "The body is not acceptable JSON: it "+what+".")
}

// jsonReader walks the tokens; name is the field of the top level that it is in.
type jsonReader struct {
	dec  *json.Decoder
	name string
}

func (r *jsonReader) value(depth int) (any, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, badJSON("does not parse near byte " + strconv.FormatInt(r.dec.InputOffset(), 10))
	}
	switch t := token.(type) {
	case json.Delim:
		if depth >= jsonDepthMax {
			return nil, badRequest(r.name, codeInvalidBody, "The JSON is nested deeper than "+strconv.Itoa(jsonDepthMax)+" levels.")
		}
		if t == '{' {
			return r.object(depth + 1)
		}
		return r.list(depth + 1)
	case string:
		if strings.IndexByte(t, 0) >= 0 {
			return nil, badRequest(r.name, codeInvalidValue, "The text of "+quoteName(r.name)+" must not contain NUL.")
		}
	}
	return token, nil
}

func (r *jsonReader) object(depth int) (any, error) {
	object := map[string]any{}
	for r.dec.More() {
		token, err := r.dec.Token()
		key, isKey := token.(string)
		if err != nil || !isKey {
			return nil, badJSON("does not parse near byte " + strconv.FormatInt(r.dec.InputOffset(), 10))
		}
		if depth == 1 {
			r.name = shown(key)
		}
		if len(key) > nameBytesMax || strings.IndexByte(key, 0) >= 0 {
			return nil, badRequest(r.name, codeInvalidBody, "A key of an object is too long or contains NUL.")
		}
		if _, twice := object[key]; twice {
			return nil, badRequest(r.name, codeInvalidBody, "The key "+quoteName(shown(key))+" stands twice in one object.")
		}
		if object[key], err = r.value(depth); err != nil {
			return nil, err
		}
	}
	return object, r.end()
}

func (r *jsonReader) list(depth int) (any, error) {
	list := []any{}
	for r.dec.More() {
		item, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, r.end()
}

// end reads the closing bracket.
func (r *jsonReader) end() error {
	if _, err := r.dec.Token(); err != nil {
		return badJSON("ends too early")
	}
	return nil
}

func quoteName(name string) string { return strconv.QuoteToASCII(name) }

// hasLoneSurrogate looks for \uD800 to \uDFFF without its other half; the decoder would quietly put another character there.
func hasLoneSurrogate(body []byte) bool {
	for i := 0; i+1 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if body[i+1] != 'u' {
			i++
			continue
		}
		first, ok := hex4(body, i+2)
		if !ok || !utf16.IsSurrogate(first) {
			i++
			continue
		}
		second, ok := rune(0), false
		if i+7 < len(body) && body[i+6] == '\\' && body[i+7] == 'u' {
			second, ok = hex4(body, i+8)
		}
		if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		i += 11
	}
	return false
}

func hex4(body []byte, at int) (rune, bool) {
	if at+4 > len(body) {
		return 0, false
	}
	code, err := strconv.ParseUint(string(body[at:at+4]), 16, 16)
	return rune(code), err == nil
}
