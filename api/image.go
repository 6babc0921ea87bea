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
		if _, isText := other.(string); !isText {
			return nil, badRequest("reference_url", codeInvalidType, "reference_url must be a string.")
		}
		return nil, badRequest("reference_url", codeUnsupported, fetchIsOff("reference_url"))
	}
	if !given {
		return nil, nil // no reference is an ordinary request
	}
	switch v := value.(type) {
	case *upload:
		return &reference{digest: v.SHA256(), open: func(context.Context) (io.ReadCloser, error) { return known{v.Reader()}, nil }}, nil
	case string:
		return referenceText(v)
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
	return referenceText(text)
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

// referenceText reads a data URL or bare base64. Addresses and paths are refused: nothing is fetched, and nothing of the server is read.
func referenceText(text string) (*reference, error) {
	lower := strings.ToLower(text[:min(len(text), 8)])
	if strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://") {
		return nil, badRequest("input_reference", codeUnsupported, fetchIsOff("input_reference"))
	}
	data, err := base64Data(text)
	if err != nil {
		return nil, err
	}
	picture, err := decodeBase64(data)
	if err != nil {
		return nil, badRequest("input_reference", codeInvalidType, "Invalid type for 'input_reference': expected a file, a data URL or base64, but got another string instead.")
	}
	if len(picture) > imageBytesMax {
		return nil, tooLarge("input_reference", "input_reference is larger than 20 MB.")
	}
	if !isPicture(picture) {
		return nil, badRequest("input_reference", codeInvalidImage, "input_reference is not a PNG, JPEG or WebP picture.")
	}
	digest := sha256.Sum256(picture)
	return &reference{digest: hex.EncodeToString(digest[:]), open: func(context.Context) (io.ReadCloser, error) {
		return known{bytes.NewReader(picture)}, nil
	}}, nil
}

// base64Data is the base64 of a data URL, or the text itself where it is none.
func base64Data(text string) (string, error) {
	if len(text) < 5 || !strings.EqualFold(text[:5], "data:") {
		return text, nil
	}
	head, data, found := strings.Cut(text[5:], ",")
	if !found || len(head) > nameBytesMax || !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return "", badRequest("input_reference", codeInvalidValue, "input_reference: a data URL must have the form data:image/png;base64,... .")
	}
	if strings.Contains(data, "%") {
		plain, err := url.PathUnescape(data)
		if err != nil {
			return "", badRequest("input_reference", codeInvalidValue, "input_reference: the data URL has a broken escape.")
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

// decodePicture makes a clean picture of the reference, a few at a time over all requests.
func (s *Server) decodePicture(ctx context.Context, r *reference) (Picture, error) {
	if err := s.decodes.Acquire(ctx, 1); err != nil {
		return Picture{}, err
	}
	defer s.decodes.Release(1)
	body, err := r.open(ctx)
	if err != nil {
		return Picture{}, err
	}
	defer func() { _ = body.Close() }()
	return s.deps.DecodeImage(ctx, body)
}
