package api_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// answerTimeMax is far above what an answer takes, for machines are busy; it finds answers that wait for something.
const answerTimeMax = 30 * time.Second

// badRequest is one line of testdata/bad_requests.jsonl.
type badRequest struct {
	Name string `json:"name"`
	// Method is POST, Path /v1/videos and Type application/json where they are absent.
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Type    *string           `json:"type"`
	Headers map[string]string `json:"headers"`
	// The body is given as text, as base64, or as text that is repeated.
	Body   string `json:"body"`
	Base64 string `json:"b64"`
	Pad    *struct {
		Before, Unit, After string
		Times               int
	} `json:"pad"`
	// Status and Param are wanted; an absent param means null, and "*" any.
	Status int    `json:"status"`
	Param  string `json:"param"`
}

func (b badRequest) body(t *testing.T) string {
	t.Helper()
	switch {
	case b.Pad != nil:
		return b.Pad.Before + strings.Repeat(b.Pad.Unit, b.Pad.Times) + b.Pad.After
	case b.Base64 != "":
		raw, err := base64.StdEncoding.DecodeString(b.Base64)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	return b.Body
}

// TestBadRequests sends a table of mistakes. Each gets its 4xx in the envelope with the field at fault, soon, and nothing stays behind.
func TestBadRequests(t *testing.T) {
	s := newStack(t)
	rows := badRequests(t)
	if len(rows) < 200 {
		t.Fatalf("the table has only %d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			method, path, contentType := row.Method, row.Path, "application/json"
			if method == "" {
				method = http.MethodPost
			}
			if path == "" {
				path = "/v1/videos"
			}
			if row.Type != nil {
				contentType = *row.Type
			}
			var headers []string
			if contentType != "" {
				headers = append(headers, "Content-Type", contentType)
			}
			for name, value := range row.Headers {
				headers = append(headers, name, value)
			}
			begin := time.Now()
			r := s.request(t, method, path, strings.NewReader(row.body(t)), headers...)
			if took := time.Since(begin); took > answerTimeMax {
				t.Errorf("took %s", took)
			}
			p := r.problem(t, row.Status)
			param, _ := p["param"].(string)
			if row.Param != "*" && param != row.Param {
				t.Errorf("param %q, want %q: %s", param, row.Param, r.body)
			}
			if p["type"] != "invalid_request_error" || p["code"] == nil {
				t.Errorf("type %v, code %v", p["type"], p["code"])
			}
		})
	}
	if list := s.request(t, http.MethodGet, "/v1/videos", nil).object(t, 200); len(list["data"].([]any)) != 0 {
		t.Errorf("bad requests made videos: %v", list)
	}
	if keys := s.objects(t); len(keys) != 0 {
		t.Errorf("bad requests left objects: %v", keys)
	}
	s.noTempFiles(t)
}

func badRequests(t *testing.T) []badRequest {
	t.Helper()
	data, err := os.ReadFile("testdata/bad_requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var rows []badRequest
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var row badRequest
		if err := json.Unmarshal(scanner.Bytes(), &row); err != nil {
			t.Fatalf("line %d: %v", len(rows)+1, err)
		}
		rows = append(rows, row)
	}
	return rows
}
