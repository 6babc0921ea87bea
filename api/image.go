package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/url"
	"strings"

	"telefuser/jobs"
)

// reference is a reference picture under way: where its bytes come from, and what became of them.
type reference struct {
	open   func(ctx context.Context) (io.ReadCloser, error)
	digest string
	// url is where it has to be fetched from before open is of use; empty for what is here already. param is the field that named it.
	url   string
	param string
}

// known is a picture that is here whole and need not be closed. It shows its size, so that the decoder's buffer need not grow: growing leaves
// several times the picture behind as garbage.
type known struct{ sizedReader }

type sizedReader interface {
	io.Reader
	Size() int64
}

// Close does nothing.
func (known) Close() error { return nil }

// takeReference takes input_reference out of the fields, in any of its forms; nil where there is none.
func (s *Server) takeReference(ctx context.Context, who caller, f *fields) (*reference, error) {
	value, given := f.take("input_reference")
	if other, both := f.take("reference_url"); both {
		if given {
			return nil, badRequest("input_reference", codeInvalidValue, "input_reference and reference_url exclude each other; give one of them.")
		}
		text, isText := other.(string)
		if !isText {
			return nil, badRequest("reference_url", codeInvalidType, "reference_url must be a string.")
		}
		return s.referenceString("reference_url", text)
	}
	if !given {
		return nil, nil // no reference is an ordinary request
	}
	switch v := value.(type) {
	case *upload:
		return &reference{digest: v.SHA256(), open: func(context.Context) (io.ReadCloser, error) { return known{v.Reader()}, nil }}, nil
	case string:
		return s.referenceString("input_reference", v)
	case map[string]any:
		return s.referenceObject(ctx, who, v, f.form)
	}
	return nil, badRequest("input_reference", codeInvalidType, "Invalid type for 'input_reference': expected a file or an object with image_url or file_id, but got "+kind(value)+" instead.")
}

func fetchIsOff(name string) string {
	return name + ": fetching by URL is off on this server; send the picture itself, a data URL or a file_id."
}

// referenceObject reads exactly one of image_url and file_id.
func (s *Server) referenceObject(ctx context.Context, who caller, object map[string]any, form bool) (*reference, error) {
	f := fields{values: object, form: form}
	imageURL, hasURL := f.take("image_url")
	fileID, hasFile := f.take("file_id")
	for name := range f.values {
		return nil, badRequest("input_reference", codeUnknownParameter, "Unknown parameter: "+quoteName(shown("input_reference."+name))+".")
	}
	if hasURL == hasFile {
		return nil, badRequest("input_reference", codeInvalidValue, "input_reference must have exactly one of image_url and file_id.")
	}
	value := imageURL
	if hasFile {
		value = fileID
	}
	text, ok := value.(string)
	if !ok {
		return nil, badRequest("input_reference", codeInvalidType, "input_reference: image_url and file_id must be strings, but got "+kind(value)+" instead.")
	}
	if hasFile {
		return s.referenceFile(ctx, who, text)
	}
	return s.referenceString("input_reference", text)
}

// referenceFile finds an own upload.
func (s *Server) referenceFile(ctx context.Context, who caller, id string) (*reference, error) {
	missing := badRequest("input_reference", codeInvalidValue, "input_reference: there is no file with this file_id.")
	if !jobs.ValidFileID(id) {
		return nil, missing
	}
	file, err := s.deps.Jobs.GetFile(ctx, who.tenant, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	return &reference{digest: file.SHA256, open: func(ctx context.Context) (io.ReadCloser, error) {
		body, _, err := s.deps.Store.Open(ctx, file.Key, 0, -1)
		return body, err
	}}, nil
}

// referenceString reads an address where fetching is on, a data URL or bare base64. Paths are refused: nothing of the server is read.
func (s *Server) referenceString(param, text string) (*reference, error) {
	lower := strings.ToLower(text[:min(len(text), 8)])
	if !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
		return referenceText(param, text)
	}
	if s.deps.FetchImage == nil {
		return nil, badRequest(param, codeUnsupported, fetchIsOff(param))
	}
	// What the request says is the address. So a retry is the same request, even if somebody else answers there by then.
	digest := sha256.Sum256([]byte("url:" + text))
	return &reference{param: param, url: text, digest: hex.EncodeToString(digest[:])}, nil
}

// referenceText reads a data URL or bare base64.
func referenceText(param, text string) (*reference, error) {
	data, err := base64Data(param, text)
	if err != nil {
		return nil, err
	}
	picture, err := decodeBase64(data)
	if err != nil {
		return nil, badRequest(param, codeInvalidType, "Invalid type for '"+param+"': expected a file, a data URL or base64, but got another string instead.")
	}
	if len(picture) > imageBytesMax {
		return nil, tooLarge(param, param+" is larger than 20 MB.")
	}
	if !isPicture(picture) {
		return nil, badRequest(param, codeInvalidImage, param+" is not a PNG, JPEG or WebP picture.")
	}
	digest := sha256.Sum256(picture)
	return &reference{param: param, digest: hex.EncodeToString(digest[:]), open: func(context.Context) (io.ReadCloser, error) {
		return known{bytes.NewReader(picture)}, nil
	}}, nil
}

// base64Data is the base64 of a data URL, or the text itself where it is none.
func base64Data(param, text string) (string, error) {
	if len(text) < 5 || !strings.EqualFold(text[:5], "data:") {
		return text, nil
	}
	head, data, found := strings.Cut(text[5:], ",")
	if !found || len(head) > nameBytesMax || !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return "", badRequest(param, codeInvalidValue, param+": a data URL must have the form data:image/png;base64,... .")
	}
	if strings.Contains(data, "%") {
		plain, err := url.PathUnescape(data)
		if err != nil {
			return "", badRequest(param, codeInvalidValue, param+": the data URL has a broken escape.")
		}
		data = plain
	}
	return data, nil
}

// decodeBase64 takes both alphabets, with padding or without.
func decodeBase64(text string) ([]byte, error) {
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	text = strings.TrimRight(strings.TrimRight(text, "\r\n"), "=")
	if text == "" {
		return nil, base64.CorruptInputError(0)
	}
	return encoding.DecodeString(text)
}

// isPicture looks at the first bytes alone; the decoder has the last word.
func isPicture(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")) || bytes.HasPrefix(head, []byte("\xff\xd8\xff")) ||
		len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}
