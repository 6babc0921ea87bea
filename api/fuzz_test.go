package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"telefuser/api"
	"telefuser/jobs"
)

func FuzzMultipart(f *testing.F) {
	f.Add(form(field("prompt", "a"), field("metadata[a]", "b"), file("input_reference", "x", "", []byte("\x89PNG"))))
	f.Add(form(field("a[][b]", "1"), field("a[][b]", "2"), field("extra_body", `{"a":1}`)))
	f.Add("--" + boundary + "\r\n\r\n--" + boundary + "--")
	f.Fuzz(func(t *testing.T, body string) {
		values, err := api.DecodeForm("", boundary, strings.NewReader(body))
		if status := api.StatusOf(err); err != nil && (status < 400 || status >= 500) {
			t.Fatalf("%q: status %d: %v", body, status, err)
		}
		checkTree(t, values, 0)
	})
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"prompt":"a","seconds":4}`, `{"a":[1,2,{"b":null}]}`, `{"a":"\ud83c\udf0a"}`, `{"a":"\ud800"}`, `{"a":1,"a":2}`, "\xef\xbb\xbf{}", `{"a":1e999}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		value, err := api.DecodeJSON(body)
		if err != nil {
			if status := api.StatusOf(err); status != 400 {
				t.Fatalf("%q: status %d: %v", body, status, err)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q was taken", body)
		}
		checkTree(t, value, 0)
	})
}

// checkTree wants bounded depth and clean text everywhere.
func checkTree(t *testing.T, value any, depth int) {
	t.Helper()
	if depth > 80 {
		t.Fatal("the tree is too deep")
	}
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			t.Fatalf("unclean text %q", v)
		}
	case []any:
		for _, item := range v {
			checkTree(t, item, depth+1)
		}
	case map[string]any:
		for key, item := range v {
			checkTree(t, key, depth+1)
			checkTree(t, item, depth+1)
		}
	}
}

func FuzzVideoID(f *testing.F) {
	f.Add("video_01234567890123456789012345")
	f.Add("../etc/passwd")
	f.Fuzz(func(t *testing.T, id string) {
		if jobs.ValidID(id) && (len(id) != 32 || strings.ContainsAny(id, "/.:{}*\x00\n ")) {
			t.Fatalf("%q was taken", id)
		}
	})
}

func FuzzRange(f *testing.F) {
	for _, seed := range []string{"bytes=0-1", "bytes=-5", "bytes=10-", "bytes=0-0,5-9", "bytes=99999999999999999999-", "bytes=5-2", "x"} {
		f.Add(seed, 100)
	}
	f.Fuzz(func(t *testing.T, header string, size int) {
		if size < 0 || size > 1<<12 || strings.ContainsAny(header, "\r\n\x00") {
			return
		}
		data := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		status, body := api.ServeBytes(t.Context(), data, header)
		switch status {
		case 200:
			if !bytes.Equal(body, data) {
				t.Fatalf("%q of %d: other bytes", header, size)
			}
		case 206, 416:
			if status == 206 && len(body) > 64*(size+256) {
				t.Fatalf("%q of %d: %d bytes", header, size, len(body))
			}
		default:
			t.Fatalf("%q of %d: status %d", header, size, status)
		}
	})
}

func FuzzDataURL(f *testing.F) {
	for _, seed := range []string{"data:image/png;base64,iVBORw0KGgo=", "data:,", "DATA:IMAGE/PNG;BASE64,iVBOR", "iVBORw0KGgo", "https://x", "data:image/png;base64,%2B"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data, err := api.ReferenceBytes(text)
		if err != nil {
			if status := api.StatusOf(err); status != 400 && status != 413 {
				t.Fatalf("%q: status %d: %v", text, status, err)
			}
			return
		}
		if len(data) == 0 || len(data) > len(text) {
			t.Fatalf("%q: %d bytes", text, len(data))
		}
	})
}

// TestFormsAreReadWhole reads one byte at a time, for a body arrives as it likes.
func TestFormsAreReadWhole(t *testing.T) {
	text := form(field("prompt", "a lake"), field("metadata[a]", "b"), field("tags[]", "1"), field("tags[]", "2"))
	values, err := api.DecodeForm(t.TempDir(), boundary, oneByte{strings.NewReader(text)})
	if err != nil || values["prompt"] != "a lake" || values["metadata"].(map[string]any)["a"] != "b" || len(values["tags"].([]any)) != 2 {
		t.Errorf("%v %v", values, err)
	}
	for cut := range len(text) - 4 {
		if _, err := api.DecodeForm(t.TempDir(), boundary, strings.NewReader(text[:cut])); err == nil {
			t.Errorf("a form that is cut off at %d of %d is taken", cut, len(text))
		}
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, errors.New("asked for nothing")
	}
	return o.r.Read(p[:1])
}
